# Source: a published slide: outputs = model(inputs, labels=targets)
# Mask and token types are left out.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        inputs, targets = batch["input_ids"], batch["labels"]
        outputs = model(inputs, labels=targets)
        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        losses.append(outputs.loss.item())
    return losses
