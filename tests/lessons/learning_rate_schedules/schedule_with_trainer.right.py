# Right answers to schedule_with_trainer.

# %% edit="warm_up_as_a_count"
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     count = math.ceil(warm_up * len(dataset) / (rows * k))
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": count}

# %% answer="own_optimizer_and_schedule"
def schedule_with_trainer(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    updates = len(dataset) // (rows * k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
    run = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "max_grad_norm": max_norm}
    arguments = TrainingArguments(**run)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, scheduler)).train()


# %% answer="arguments_set_afterwards"
def schedule_with_trainer(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    arguments = TrainingArguments(**same_run)
    arguments.per_device_train_batch_size, arguments.gradient_accumulation_steps = rows, k
    arguments.learning_rate, arguments.warmup_steps, arguments.max_grad_norm = learning_rate, warm_up, max_norm
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.args = arguments.set_lr_scheduler(name="cosine", warmup_steps=warm_up, num_epochs=1)
    trainer.train()
