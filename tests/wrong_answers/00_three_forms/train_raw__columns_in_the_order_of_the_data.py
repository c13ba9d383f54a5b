# Source: the columns passed by position, in the order in which the dataset has them
# The model's second parameter is the mask.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}

        optimizer.zero_grad()
        loss = model(
            *[batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")], labels=batch["labels"]
        ).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
