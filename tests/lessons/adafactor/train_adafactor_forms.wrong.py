# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of the lesson for both
# No Accelerate, no Trainer.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    for model in (accelerate_model, trainer_model):
        train_raw(
            model, Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False), dataset, rows
        )


# %% answer="hard_coded" code="accelerate_visible_case_hard_coded" seed=20011
# Source: the rates of the visible seed
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    lr = 1e-3 if lr == 1e-3 else 0.003
    optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
    Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()


# %% edit="copied_from_lesson" code="accelerate_torch_adafactor"
# Source: the published code of the lesson: Adafactor of PyTorch
# PyTorch's Adafactor scales its steps.
# -     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     optimizer = torch.optim.Adafactor(params=accelerate_model.parameters(), lr=lr)
#       accelerator = Accelerator()

# %% edit="adamw_in_the_loop" code="accelerate_adamw_left_in"
# Source: lesson 06
# -     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     optimizer = torch.optim.AdamW(accelerate_model.parameters(), lr=lr, weight_decay=0.0)
#       accelerator = Accelerator()

# %% edit="defaults_of_transformers" code="accelerate_defaults_left_on"
# Source: transformers' defaults, without lr
# Relative step and scale are on.
# -     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     optimizer = Adafactor(accelerate_model.parameters())
#       accelerator = Accelerator()

# %% edit="never_cleared" code="accelerate_gradient_not_cleared"
# Source: a likely slip
# Gradients add up.
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="scaled_by_constant" code="accelerate_gradient_scaled"
# Source: a loss that is multiplied by 4
# The gradient is 4 times too large; Adafactor hides it.
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(4 * model(**batch).loss)

# %% edit="last_rows_left_out" code="accelerate_last_rows_left_out"
# Source: PyTorch, DataLoader: drop_last
# The short batch at the end is dropped.
#       accelerator = Accelerator()
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, drop_last=True)
# +     )

# %% edit="no_step" code="accelerate_no_step"
# Source: a likely slip
# optimizer.step() is left out.
#           accelerator.backward(model(**batch).loss)
# -         optimizer.step()
#           optimizer.zero_grad()

# %% edit="shuffled" code="accelerate_other_gradient"
# Source: the loader of the real run
# Rows in random order with Accelerate.
#       accelerator = Accelerator()
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=True)
# +     )

# %% edit="learning_rate_fixed" code="accelerate_other_learning_rate"
# Source: the learning rate of the lesson
# lr is 2e-4, whatever is asked.
# -     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     optimizer = Adafactor(accelerate_model.parameters(), lr=2e-4, relative_step=False, scale_parameter=False)
#       accelerator = Accelerator()

# %% edit="relative_step_left_on" code="accelerate_relative_step_on"
# Source: a likely slip: lr=None
# -     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     optimizer = Adafactor(accelerate_model.parameters(), scale_parameter=False)
#       accelerator = Accelerator()

# %% edit="scale_left_on" code="accelerate_scale_parameter_on"
# Source: a likely slip: only relative_step is turned off
# -     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False)
#       accelerator = Accelerator()

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: the raw loop
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()


# %% answer="models_swapped" code="models_swapped"
# Source: a likely slip
# Each form is given the other's model.
def train_adafactor_forms(trainer_model, accelerate_model, dataset, rows: int, lr: float) -> None:
    optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
    Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()


# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: a likely slip
# Only model and loader are prepared.
#       accelerator = Accelerator()
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(accelerate_model, DataLoader(dataset, batch_size=rows))

# %% edit="trainer_with_adamw" code="trainer_adamw_left_in"
# Source: the Trainer's default
# optim is left out.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr}
# +     Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()

# %% edit="trainer_default_rate" code="trainer_default_learning_rate"
# Source: a likely slip
# learning_rate is left out.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     arguments = {"per_device_train_batch_size": rows, "optim": "adafactor"}
# +     Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()

# %% edit="trainer_three_epochs" code="trainer_epoch_repeated"
# Source: the Trainer's default
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor", "num_train_epochs": 3}
# +     Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()

# %% edit="trainer_with_scale" code="trainer_scale_parameter_on"
# Source: a likely slip: only relative_step is turned off
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     optimizer = Adafactor(trainer_model.parameters(), lr=lr, relative_step=False)
# +     arguments = TrainingArguments(**arguments, **same_run)
# +     Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()

# %% edit="trainer_with_torch" code="trainer_torch_adafactor"
# Source: PyTorch's Adafactor in the Trainer
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     optimizer = torch.optim.Adafactor(trainer_model.parameters(), lr=lr)
# +     arguments = TrainingArguments(**arguments, **same_run)
# +     Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()

# %% edit="trainer_default_rows" code="trainer_whole_group_in_one_forward"
# Source: a likely slip
# 8 rows for each update.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     arguments = {"learning_rate": lr, "optim": "adafactor"}
# +     Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()

# %% edit="raw_loop_for_trainer" code="trainer_left_out"
# Source: the loop train_raw of the lesson
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "optim": "adafactor"}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     for_trainer = Adafactor(trainer_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +     train_raw(trainer_model, for_trainer, dataset, rows)


# %% answer="trainer_schedule" code="trainer_learning_rate_changed"
# Source: the Trainer's default
# The learning rate falls.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {
        "per_device_train_batch_size": rows,
        "learning_rate": lr,
        "optim": "adafactor",
        "lr_scheduler_type": "linear",
    }
    Trainer(trainer_model, TrainingArguments(**(same_run | arguments)), train_dataset=dataset).train()
