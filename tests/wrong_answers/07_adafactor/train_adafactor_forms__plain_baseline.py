# Source: the raw loop of the lesson for both
# No Accelerate, no Trainer.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    for model in (accelerate_model, trainer_model):
        train_raw(
            model, Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False), dataset, rows
        )
