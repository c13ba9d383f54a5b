# Source: the Trainer's default schedule
# The learning rate falls to 0.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 1 - update / len(loader))
    losses = []
    model.train()
    for batch in loader:
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses
