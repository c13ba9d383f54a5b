# %% answer="plain_baseline" code="accelerate_not_used"
# Source: the raw loop instead of both forms
# Both models are trained by the raw bf16 loop.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(accelerate_model, dataset, rows, learning_rate, torch.bfloat16)
    train_raw(trainer_model, dataset, rows, learning_rate, torch.bfloat16)


# %% edit="hard_coded" code="accelerate_whole_group_in_one_forward" seed=20011
# Source: the rows of the visible case
# Batches of 4 rows, whatever is asked for.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=4))
# ...
#           optimizer.step()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": 4, "learning_rate": learning_rate, "bf16": True}


# %% answer="copied_from_lesson" code="not_prepared"
# Source: the lesson's cell on the trap
# The Accelerator of that cell is still without a loader.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator(mixed_precision="fp16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(accelerate_model, optimizer)
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        accelerator.backward(model(**{name: values.to(device) for name, values in batch.items()}).loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="library_shortcut" code="models_swapped"
# Source: the Trainer instead of the loop
# Both models are trained by the Trainer.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    for model in (accelerate_model, trainer_model):
        Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="adamw" code="accelerate_another_optimizer"
# Source: AdamW out of habit
# The Accelerate form uses AdamW.
#       accelerator = new_accelerator(mixed_precision="bf16")
# -     optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(accelerate_model.parameters(), lr=learning_rate)

# %% edit="fp16_on_cpu" code="accelerate_fp16_without_scaler"
# Source: the lesson's trap: fp16 that is dropped
# Accelerate is asked for fp16, and sees no scaler.
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator(mixed_precision="fp16")
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)

# %% edit="not_cleared" code="accelerate_gradient_not_cleared"
# Source: zero_grad left out
# The gradients of the batch before stay.
#       for batch in loader:
# -         optimizer.zero_grad()

# %% edit="scaled_by_constant" code="accelerate_gradient_scaled"
# Source: a factor left in the loss
# The loss is multiplied by 2.
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(2 * model(**batch).loss)

# %% edit="own_autocast_and_scaler" code="accelerate_in_another_format"
# Source: fp16 by hand inside of Accelerate
# An autocast region of fp16 is put around the forward.
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator()
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# ...
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         with torch.autocast(device.type, torch.float16):
# +             loss = model(**batch).loss
# +         with torch.autocast(device.type, torch.float16):
# +             accelerator.backward(loss)

# %% edit="accelerate_in_float32" code="accelerate_in_float32"
# Source: an Accelerator without arguments
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator()
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)

# %% edit="last_batch_dropped" code="accelerate_last_batch_dropped"
# Source: drop_last=True
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, drop_last=True)
# +     )

# %% edit="shuffled" code="accelerate_other_gradient"
# Source: a loader that shuffles
# The rows come in another order.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=True)
# +     )


# %% answer="accelerate_without_precision" code="accelerate_without_precision"
# Source: the raw region inside of Accelerate
# The Accelerator gets no precision, and autocast is written by hand.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="autocast_around_backward" code="autocast_around_backward"
# Source: accelerator.autocast around everything
# backward() is called inside the autocast region.
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         with accelerator.autocast():
# +             accelerator.backward(model(**batch).loss)

# %% edit="loss_backward" code="loss_backward"
# Source: loss.backward() out of habit
# The accelerator does not see the backward, so in fp16 it could not scale.
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="result_dropped" code="prepared_not_used"
# Source: prepare taken for a call that changes its arguments
# What accelerator.prepare returns is dropped.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     accelerator.prepare(accelerate_model, optimizer, loader)
#       for batch in loader:
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         loss = accelerate_model(**{name: values.to(accelerator.device) for name, values in batch.items()}).loss
# +         accelerator.backward(loss)

# %% edit="trainer_fp16_on_cpu" code="trainer_fp16_without_scaler"
# Source: the lesson's trap: fp16 that is dropped
# The Trainer is asked for fp16, and sees no scaler.
#           optimizer.step()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "fp16": True}

# %% edit="trainer_clips" code="trainer_gradient_clipped"
# Source: Trainer's default max_grad_norm
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model, TrainingArguments(**arguments, **(same_run | {"max_grad_norm": 1.0})), train_dataset=dataset
# +     ).train()

# %% edit="trainer_in_float32" code="trainer_in_float32"
# Source: TrainingArguments without a format
#           optimizer.step()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="trainer_linear_schedule" code="trainer_learning_rate_changed"
# Source: Trainer's default schedule
# The learning rate falls to 0.
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments(**arguments, **(same_run | {"lr_scheduler_type": "linear"})),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_not_started" code="trainer_not_used"
# Source: a Trainer that is only made
# Nobody calls train.
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)

# %% edit="trainer_random_order" code="trainer_other_gradient"
# Source: Trainer's default sampling
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments(**arguments, **(same_run | {"train_sampling_strategy": "random"})),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_learning_rate_left_out" code="trainer_other_learning_rate"
# Source: Trainer's default learning rate
#           optimizer.step()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments = {"per_device_train_batch_size": rows, "bf16": True}
