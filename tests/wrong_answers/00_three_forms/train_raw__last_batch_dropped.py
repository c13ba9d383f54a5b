# Source: drop_last=True, as large-scale recipes have it
# The short last batch is not trained on.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows, drop_last=True):
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
