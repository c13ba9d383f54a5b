# Source: the PyTorch examples that call out.sum().backward() to have a gradient
# The sum of the outputs is no loss.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        optimizer.zero_grad()
        outputs = model(**batch)
        outputs.logits.sum().backward()
        optimizer.step()
        losses.append(outputs.loss.item())
    return losses
