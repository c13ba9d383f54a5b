# Source: raw PyTorch, no library
# All columns by name, in train mode.
def train_repaired(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
