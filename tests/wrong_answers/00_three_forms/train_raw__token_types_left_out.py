# Source: a forward for models without token types, such as DistilBERT
# Both sentences look like one.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        optimizer.zero_grad()
        loss = model(batch["input_ids"], batch["attention_mask"], labels=batch["labels"]).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
