# Source: an evaluation loop, as in many tutorials
# The losses are right and nothing is trained.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        with torch.no_grad():
            losses.append(model(**batch).loss.item())
    return losses
