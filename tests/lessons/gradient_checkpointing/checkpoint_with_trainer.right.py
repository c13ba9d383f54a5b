# %% answer="enabled_by_the_call"
def checkpoint_with_trainer(model, dataset, rows, learning_rate):
    enable_checkpointing(model)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(per_device_train_batch_size=rows, learning_rate=learning_rate, **same_run),
        train_dataset=dataset,
    )
    trainer.train()


# %% answer="dictionary"
def checkpoint_with_trainer(model, dataset, rows, learning_rate):
    own = dict(same_run)
    own[trainer_argument] = True
    own["per_device_train_batch_size"] = rows
    own["learning_rate"] = learning_rate
    Trainer(model, TrainingArguments(**own), train_dataset=dataset).train()


# %% answer="own_optimizer"
def checkpoint_with_trainer(model, dataset, rows, learning_rate):
    arguments = TrainingArguments(per_device_train_batch_size=rows, **{trainer_argument: True}, **same_run)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()
