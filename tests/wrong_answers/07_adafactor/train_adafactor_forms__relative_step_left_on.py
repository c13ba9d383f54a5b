# Source: a likely slip: lr=None
# The relative step is on.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    optimizer = Adafactor(accelerate_model.parameters(), scale_parameter=False)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
    Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()
