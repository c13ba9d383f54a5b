# Source: the published loop as it stands
# Eval mode, no mask, no token types.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for index, batch in enumerate(DataLoader(dataset, batch_size=rows)):
        inputs, targets = batch["input_ids"].to(model.device), batch["labels"].to(model.device)
        outputs = model(inputs, labels=targets)
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
