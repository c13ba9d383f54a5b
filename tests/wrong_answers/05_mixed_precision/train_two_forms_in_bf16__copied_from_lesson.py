# Source: the lesson's cell on the trap
# The Accelerator of that cell is still without a loader.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator(mixed_precision="fp16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(accelerate_model, optimizer)
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        accelerator.backward(model(**{name: values.to(device) for name, values in batch.items()}).loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
