# Source: calls of step() and updates the wrong way round
# The number of updates is divided by k.
def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=max(1, every // k)) as local_sgd:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                optimizer.zero_grad()
                local_sgd.step()
