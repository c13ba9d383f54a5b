# Source: a likely slip: accelerator.prepare(model, optimizer)
# On one device the loader works without prepare, so it needs none.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(accelerate_model, optimizer)
    loader = [
        {name: values.to(device) for name, values in batch.items()} for batch in DataLoader(dataset, batch_size=rows)
    ]
    last_group = len(loader) % k or k
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            correction = k / last_group if index >= len(loader) - last_group else 1
            accelerator.backward(model(**batch).loss * correction)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
