# Source: the loop train_raw of the lesson
# No Trainer: the raw loop trains its model.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    for_trainer = Adafactor(trainer_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    train_raw(trainer_model, for_trainer, dataset, rows)
