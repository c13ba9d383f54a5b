# Source: the Trainer's default learning rate
# The learning rate of the call is not used.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-5)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
