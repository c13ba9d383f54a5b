# Source: a progress bar that shows one loss for each epoch
# One number for the epoch.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    total = 0.0
    model.train()
    loader = DataLoader(dataset, batch_size=rows)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)
