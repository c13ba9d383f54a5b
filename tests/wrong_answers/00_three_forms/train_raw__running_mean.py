# Source: the loss that a progress bar shows
# Each number is the mean of all losses so far.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses, total = [], 0.0
    model.train()
    for count, batch in enumerate(DataLoader(dataset, batch_size=rows), start=1):
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        total += loss.item()
        losses.append(total / count)
    return losses
