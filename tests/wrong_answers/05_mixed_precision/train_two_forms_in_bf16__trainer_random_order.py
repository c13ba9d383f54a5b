# Source: Trainer's default sampling
# The rows come in random order.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(
        trainer_model,
        TrainingArguments(**arguments, **(same_run | {"train_sampling_strategy": "random"})),
        train_dataset=dataset,
    ).train()
