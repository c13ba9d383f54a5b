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


# %% answer="arguments_set_one_by_one"
def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = TrainingArguments(**same_run)
    arguments.per_device_train_batch_size = rows
    arguments.gradient_accumulation_steps = k
    arguments.learning_rate = learning_rate
    Trainer(model=model, args=arguments, train_dataset=dataset).train()
