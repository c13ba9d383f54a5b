# %% answer="plain_baseline" code="trainer_left_out"
# Source: the raw loop of the lesson
def train_adafactor_with_trainer(model, dataset, rows: int, lr: float, library: str) -> None:
    if library == "torch":
        optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
    else:
        optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    train_raw(model, optimizer, dataset, rows)


# %% edit="hard_coded" code="other_learning_rate" seed=20011
# Source: the rates of the visible cases
# -     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
# +     lr = 1e-3 if rows == 4 else 3e-3
# +     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}

# %% edit="copied_from_lesson" code="torch_adafactor"
# Source: torch's Adafactor for both libraries
# -     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
# +     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)

# %% edit="name_for_both" code="transformers_adafactor"
# Source: optim='adafactor' for both libraries
# -     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()
# +     Trainer(model, arguments, train_dataset=dataset).train()

# %% edit="sgd_left_in" code="another_optimizer"
# Source: same_run as it is
# -     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
# +     own = {"learning_rate": lr, "per_device_train_batch_size": rows}

# %% edit="adamw" code="adamw_left_in"
# Source: the Trainer's own default
# -     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "learning_rate": lr, "per_device_train_batch_size": rows}

# %% edit="default_rate" code="default_learning_rate"
# Source: learning_rate left out
# -     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
# +     own = {"optim": "adafactor", "per_device_train_batch_size": rows}

# %% edit="default_rows" code="whole_group_in_one_forward"
# Source: batch size left out
# -     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
# +     own = {"optim": "adafactor", "learning_rate": lr}

# %% edit="scale" code="scale_parameter_on"
# Source: only relative_step is turned off
# -     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
# +     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
# +     if library == "transformers":
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False)

# %% edit="momentum_of_zero" code="momentum_kept"
# Source: beta1=0.0: equal weights, and a first moment is kept
# -     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
# +     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
# +     if library == "transformers":
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False, beta1=0.0)

# %% edit="decay" code="decay_set"
# Source: weight_decay of lesson 06
# -     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
# +     own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows, "weight_decay": 0.1}

# %% edit="clips" code="gradient_clipped"
# Source: the Trainer's default
# -     arguments = TrainingArguments(**(same_run | own))
# +     own |= {"max_grad_norm": 1.0}
# +     arguments = TrainingArguments(**(same_run | own))

# %% edit="schedule" code="learning_rate_changed"
# Source: the Trainer's default
# -     arguments = TrainingArguments(**(same_run | own))
# +     own |= {"lr_scheduler_type": "linear"}
# +     arguments = TrainingArguments(**(same_run | own))

# %% edit="three_epochs" code="epoch_repeated"
# Source: the Trainer's default
# -     arguments = TrainingArguments(**(same_run | own))
# +     own |= {"num_train_epochs": 3}
# +     arguments = TrainingArguments(**(same_run | own))

# %% edit="not_trained" code="trainer_not_used"
# Source: Trainer(...) without train()
# -     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()
# +     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None))

# %% edit="in_16_bits" code="autocast_on"
# Source: bf16 of lesson 05
# -     arguments = TrainingArguments(**(same_run | own))
# +     own |= {"bf16": True}
# +     arguments = TrainingArguments(**(same_run | own))
