# Source: the advice to use the Trainer, which calls train() and hands over every column
# The loop is not repaired but replaced.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir="trainer_output",
        per_device_train_batch_size=rows,
        learning_rate=learning_rate,
        num_train_epochs=1,
        optim="sgd",
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        train_sampling_strategy="sequential",
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    Trainer(model, arguments, train_dataset=dataset).train()
