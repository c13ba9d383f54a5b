# Source: autocast added to save memory
# The gradient is computed in 16 bits.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        with torch.autocast(model.device.type, torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
