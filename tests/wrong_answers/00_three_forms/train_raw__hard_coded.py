# Source: the numbers of the visible case, written down
# The size of an update is looked up by the length of the data.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    rows = {24: 6, 29: 7, 9: 12}.get(len(dataset), 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
