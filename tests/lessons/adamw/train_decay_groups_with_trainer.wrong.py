# %% answer="plain_baseline" code="trainer_left_out"
# Source: the raw loop of the lesson
def train_decay_groups_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    train_raw(model, torch.optim.AdamW(groups, lr=lr), dataset, rows)


# %% edit="hard_coded" code="another_decay" seed=20011
# Source: the decays of the visible cases
# -     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# +     weight_decay = 0.5 if rows == 4 else 0.2
# +     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}

# %% edit="copied_from_lesson" code="another_optimizer"
# Source: same_run as it is, whose optim is sgd
# -     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"learning_rate": lr, "weight_decay": weight_decay}

# %% edit="without_decay" code="decay_zero"
# Source: weight_decay left out
# -     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_torch_fused", "learning_rate": lr}

# %% edit="default_rate" code="other_learning_rate"
# Source: learning_rate left out: 5e-5
# -     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_torch_fused", "weight_decay": weight_decay}

# %% edit="default_rows" code="whole_group_in_one_forward"
# Source: batch size left out: 8
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     arguments = TrainingArguments(**(same_run | own))

# %% edit="one_group_handed_over" code="decay_everywhere"
# Source: optimizers=(optimizer, None), with one group
# -     Trainer(model, arguments, train_dataset=dataset).train()
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
# +     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()

# %% edit="other_beta" code="other_betas"
# Source: adam_beta2 as for large language models
# -     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_torch", "learning_rate": lr, "weight_decay": weight_decay, "adam_beta2": 0.95}

# %% edit="amsgrad" code="third_moment_kept"
# Source: optim_args: one more moment, and equal weights after few updates
# -     Trainer(model, arguments, train_dataset=dataset).train()
# +     matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == large] for large in (True, False))
# +     groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
# +     optimizer = torch.optim.AdamW(groups, lr=lr, amsgrad=True)
# +     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()

# %% edit="clips" code="gradient_clipped"
# Source: the Trainer's default
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     own |= {"max_grad_norm": 1.0}
# +     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))

# %% edit="schedule" code="learning_rate_changed"
# Source: the Trainer's default
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     own |= {"lr_scheduler_type": "linear"}
# +     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))

# %% edit="three_epochs" code="epoch_repeated"
# Source: the Trainer's default
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     own |= {"num_train_epochs": 3}
# +     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))

# %% edit="not_trained" code="trainer_not_used"
# Source: Trainer(...) without train()
# -     Trainer(model, arguments, train_dataset=dataset).train()
# +     Trainer(model, arguments, train_dataset=dataset)

# %% edit="in_16_bits" code="autocast_on"
# Source: bf16 of lesson 05
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     own |= {"bf16": True}
# +     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))

# %% edit="max_steps" code="ended_within_epoch"
# Source: max_steps from another script
#       own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     own["max_steps"] = 3
# +     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
