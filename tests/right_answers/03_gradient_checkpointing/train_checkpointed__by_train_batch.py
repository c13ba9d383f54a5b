def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    enable_checkpointing(accelerate_model.train())
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(accelerate_model, optimizer)
    for start in range(0, len(dataset), rows):
        batch = {name: values.to(accelerator.device) for name, values in dataset[start : start + rows].items()}
        optimizer.zero_grad()
        accelerator.backward(model(**batch)["loss"])
        optimizer.step()
    enable_checkpointing(trainer_model)
    trainer = Trainer(
        model=trainer_model,
        args=TrainingArguments(per_device_train_batch_size=rows, learning_rate=learning_rate, **same_run),
        train_dataset=dataset,
    )
    trainer.train()
