# Source: the worked example of one number, pasted into the loop
# The model is never called.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        weight = torch.tensor(1.0, requires_grad=True)
        sgd = torch.optim.SGD([weight], lr=0.1)
        sgd.zero_grad()
        loss = (3 * weight - 6) ** 2
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return losses
