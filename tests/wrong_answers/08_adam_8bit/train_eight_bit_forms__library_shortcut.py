# Source: the Trainer for both
# The Trainer trains both models.
def train_eight_bit_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
    for model in (accelerate_model, trainer_model):
        Trainer(model, TrainingArguments(per_device_train_batch_size=rows, **arguments), None, dataset).train()
