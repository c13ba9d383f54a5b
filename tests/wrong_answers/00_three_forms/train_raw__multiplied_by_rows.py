# Source: running_loss += loss.item() * inputs.size(0), as in the tutorial on transfer learning
# The sum over the rows is trained on.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        optimizer.zero_grad()
        loss = model(**batch).loss * len(batch["labels"])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
