# Source: one way to make the optimizer for both forms
# The Trainer is given the optimizer.
def make_adafactor(model, lr):
    return Adafactor(model.parameters(), lr=lr, scale_parameter=False, relative_step=False, warmup_init=False)


def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows, shuffle=False))
    model, optimizer = accelerator.prepare(accelerate_model, make_adafactor(accelerate_model, lr))
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    arguments = TrainingArguments(per_device_train_batch_size=rows, learning_rate=lr, **same_run)
    optimizers = (make_adafactor(trainer_model, lr), None)
    Trainer(model=trainer_model, args=arguments, train_dataset=dataset, optimizers=optimizers).train()
