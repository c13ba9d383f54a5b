# Source: the quick tour of the Trainer
# The Trainer does the loop.
from transformers import Trainer, TrainingArguments


def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
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
        logging_steps=1,
        disable_tqdm=True,
    )
    trainer = Trainer(model, arguments, train_dataset=dataset)
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
