def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True)
    rows = batch // accelerator.num_processes // k
    model = accelerator.prepare(accelerate_model)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=learning_rate))
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows))
    for index, inputs in enumerate(loader):
        is_last = index % k == k - 1
        with nullcontext() if is_last else accelerator.no_sync(model):
            accelerator.backward(model(**inputs).loss / k)
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    trainer = Trainer(trainer_model, arguments, train_dataset=dataset)
    trainer.train()
