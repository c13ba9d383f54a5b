# Source: prepare taken for a call that changes its arguments
# What accelerator.prepare returns is dropped.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    accelerator.prepare(accelerate_model, optimizer, loader)
    for batch in loader:
        optimizer.zero_grad()
        loss = accelerate_model(**{name: values.to(accelerator.device) for name, values in batch.items()}).loss
        accelerator.backward(loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
