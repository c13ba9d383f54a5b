# Source: zero_grad at the beginning of the body
# Gradients are cleared before the last backward of each group.
def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                optimizer.zero_grad()
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                local_sgd.step()
