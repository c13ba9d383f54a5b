def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(
        cpu=True, gradient_accumulation_steps=k, dataloader_config=DataLoaderConfiguration(split_batches=True)
    )
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // k)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for rows in loader:
        with accelerator.accumulate(model):
            output = model(**rows)
            accelerator.backward(output.loss)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    rows = batch // k // dist.get_world_size()
    options = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}
    Trainer(
        model=trainer_model, args=TrainingArguments(learning_rate=learning_rate, **options), train_dataset=dataset
    ).train()
