# Source: accelerator.accumulate removed, the argument left behind
# accelerator.backward still divides by 2.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        outputs = model(**batch)
        accelerator.backward(outputs.loss)
        optimizer.step()
        optimizer.zero_grad()
