# Right answers to attention_with_trainer.

# %% answer="named_arguments"
def attention_with_trainer(model, dataset, rows, learning_rate):
    model.set_attn_implementation("sdpa")
    trainer = Trainer(
        model=model,
        args=TrainingArguments(per_device_train_batch_size=rows, learning_rate=learning_rate, **same_run),
        train_dataset=dataset,
    )
    trainer.train()


# %% answer="on_the_trainers_model"
def attention_with_trainer(model, dataset, rows, learning_rate):
    own = TrainingArguments(**same_run, per_device_train_batch_size=rows, learning_rate=learning_rate)
    trainer = Trainer(model, own, train_dataset=dataset)
    trainer.model.set_attn_implementation("sdpa")
    trainer.train()


# %% answer="own_optimizer"
def attention_with_trainer(model, dataset, rows, learning_rate):
    model.config._attn_implementation = "sdpa"
    arguments = TrainingArguments(per_device_train_batch_size=rows, **same_run)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()


# %% answer="checkpointed_as_well"
def attention_with_trainer(model, dataset, rows, learning_rate):
    model.set_attn_implementation("sdpa")
    own = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**own, gradient_checkpointing=True), train_dataset=dataset).train()
