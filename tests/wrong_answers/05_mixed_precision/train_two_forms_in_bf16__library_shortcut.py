# Source: the Trainer in the place of the loop
# Both models are trained by the Trainer.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    for model in (accelerate_model, trainer_model):
        Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
