# Source: the loss computed from the logits
# The forward returns no loss of its own.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        targets = batch.pop("labels").to(model.device)
        inputs = {name: values.to(model.device) for name, values in batch.items()}
        loss = torch.nn.functional.cross_entropy(model(**inputs).logits, targets)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses
