# Source: the columns handed over in the order of the data set
# The model's second parameter is the mask.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        outputs = model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], labels=batch["labels"])
        accelerator.backward(outputs.loss)
        optimizer.step()
        optimizer.zero_grad()
