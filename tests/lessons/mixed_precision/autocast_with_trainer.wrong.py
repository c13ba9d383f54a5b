# %% answer="plain_baseline" code="trainer_not_used"
# Source: the raw loop of this lesson
def autocast_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, learning_rate, torch.bfloat16)


# %% edit="hard_coded" code="trainer_whole_group_in_one_forward" seed=20011
# Source: the rows of the visible case
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": 4, "learning_rate": learning_rate, "bf16": True}


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the loop with Accelerate, pasted
def autocast_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()


# %% edit="fp16_on_cpu" code="trainer_fp16_without_scaler"
# Source: the lesson's trap: fp16 that is dropped
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "fp16": True}

# %% edit="switched_off" code="trainer_in_float32"
# Source: TrainingArguments without a format
# The technique is off, and the weights agree to rounding.
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="full_evaluation" code="trainer_in_float32"
# Source: bf16_full_eval taken for training
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16_full_eval": True}

# %% edit="raw_region" code="trainer_without_precision"
# Source: autocast by hand around train()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     with torch.autocast(device.type, torch.bfloat16):
# +         Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()

# %% edit="converted" code="weights_converted"
# Source: model.bfloat16()
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(model.bfloat16(), TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()

# %% edit="not_started" code="trainer_not_used"
# Source: a Trainer that is only made
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)

# %% edit="clips" code="trainer_gradient_clipped"
# Source: the Trainer's default max_grad_norm
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     clipped = same_run | {"max_grad_norm": 1.0}
# +     Trainer(model, TrainingArguments(**arguments, **clipped), train_dataset=dataset).train()

# %% edit="linear_schedule" code="trainer_learning_rate_changed"
# Source: the Trainer's default schedule
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     falling = same_run | {"lr_scheduler_type": "linear"}
# +     Trainer(model, TrainingArguments(**arguments, **falling), train_dataset=dataset).train()

# %% edit="random_order" code="trainer_other_gradient"
# Source: the Trainer's default sampling
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     shuffled = same_run | {"train_sampling_strategy": "random"}
# +     Trainer(model, TrainingArguments(**arguments, **shuffled), train_dataset=dataset).train()

# %% edit="learning_rate_left_out" code="trainer_other_learning_rate"
# Source: the Trainer's default learning rate
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "bf16": True}

# %% edit="accumulates" code="trainer_accumulates"
# Source: the arguments of lesson 02
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments["gradient_accumulation_steps"] = 2
