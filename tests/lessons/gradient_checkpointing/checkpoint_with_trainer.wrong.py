# %% answer="raw_loop" code="trainer_not_used"
# Source: the reference of the lesson
def checkpoint_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, learning_rate)


# %% edit="plain_baseline" code="trainer_not_checkpointed"
# Source: the Trainer of lesson 00: the weights agree, and no memory is saved
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="hard_coded" code="trainer_whole_group_in_one_forward" seed=20011
# Source: the rows of the first visible setting
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": 4, "learning_rate": learning_rate, trainer_argument: True}


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the loop that the lesson shows, with the call of the section before it
def checkpoint_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    enable_checkpointing(model)
    train_plain(model, dataset, rows, learning_rate)


# %% edit="accumulates" code="trainer_accumulates"
# Source: a line left from lesson 02
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments["gradient_accumulation_steps"] = 2

# %% edit="epochs" code="trainer_epoch_repeated"
# Source: the Trainer's default
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"num_train_epochs": 3}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="random_order" code="trainer_other_gradient"
# Source: the Trainer's default
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"train_sampling_strategy": "random"}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="clips" code="trainer_gradient_clipped"
# Source: the Trainer's default
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"max_grad_norm": 1.0}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="stops" code="trainer_stops_early"
# Source: a line for a short trial that stayed
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"max_steps": 2}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="not_started" code="trainer_not_used"
# Source: a likely slip: Trainer(...) without train()
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)

# %% edit="default_rate" code="trainer_other_learning_rate"
# Source: the Trainer's default
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": rows, trainer_argument: True}

# %% edit="default_batch" code="trainer_whole_group_in_one_forward"
# Source: the Trainer's default
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"learning_rate": learning_rate, trainer_argument: True}

# %% edit="drop_last" code="trainer_last_rows_left_out"
# Source: a habit from training with compiled models
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**arguments, **same_run, dataloader_drop_last=True)
# +     Trainer(model, own, train_dataset=dataset).train()
