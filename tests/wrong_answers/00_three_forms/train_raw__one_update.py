# Source: the whole epoch as one batch: losses added up and one backward
# One update in place of one for each batch.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    optimizer.zero_grad()
    for batch in DataLoader(dataset, batch_size=rows):
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        losses.append(loss.item())
    optimizer.step()
    return losses
