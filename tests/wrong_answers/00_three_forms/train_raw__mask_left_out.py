# Source: a forward with the columns that seem to carry the text
# Padding is attended.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        optimizer.zero_grad()
        loss = model(batch["input_ids"], token_type_ids=batch["token_type_ids"], labels=batch["labels"]).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
