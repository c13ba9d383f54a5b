# Source: a loop copied without its bookkeeping
# The list that is returned is empty.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return losses
