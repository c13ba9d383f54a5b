# %% answer="told_after_it_was_built"
# Source: the Trainer learns of it after it was built
def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    settings = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    trainer = Trainer(model=model, args=settings, train_dataset=dataset)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="own_optimizer"
# Source: the Trainer gets optimizer and schedule
def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    model.accepts_loss_kwargs = False
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    arguments = TrainingArguments(per_device_train_batch_size=rows, gradient_accumulation_steps=k, **same_run)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, schedule)).train()


# %% answer="trainer_subclass"
# Source: a Trainer whose loss divides by the size of the group
class GroupMeanTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / self.current_gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = TrainingArguments(
        **same_run, learning_rate=learning_rate, per_device_train_batch_size=rows, gradient_accumulation_steps=k
    )
    GroupMeanTrainer(model, arguments, train_dataset=dataset).train()
