# Source: the Trainer's argument optimizers
# The Trainer is handed its optimizer.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    arguments = TrainingArguments(per_device_train_batch_size=rows, bf16=True, **same_run)
    sgd = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
    Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=(sgd, None)).train()
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
