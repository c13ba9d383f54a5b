# Source: torch.optim.SGD(..., momentum=0.9), as in most image tutorials
# Each movement holds a part of the one before.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
