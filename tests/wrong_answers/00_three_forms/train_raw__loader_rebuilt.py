# Source: next(iter(loader)), as in the first lines of many tutorials
# Each update starts the loader again.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    losses = []
    model.train()
    for _ in range(len(loader)):
        batch = next(iter(loader))
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
