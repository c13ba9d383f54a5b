# Source: the Trainer's default num_train_epochs
# Every row is seen three times.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for epoch in range(3):
        for batch in DataLoader(dataset, batch_size=rows):
            optimizer.zero_grad()
            loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
