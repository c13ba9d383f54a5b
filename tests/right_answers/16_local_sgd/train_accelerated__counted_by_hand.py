def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    model, loader = accelerator.prepare(model, DataLoader(dataset, rows))
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), learning_rate))
    with LocalSGD(accelerator, model, every) as local_sgd:
        for number, (inputs, targets) in enumerate(loader, start=1):
            with accelerator.accumulate(model):
                loss = F.mse_loss(model(inputs), targets)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if number % k == 0:
                local_sgd.step()
