# %% answer="plain_baseline" code="trainer_left_out"
# Source: the raw loop of the lesson
def train_eight_bit_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    keep_embeddings_in_32_bits(model)
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = bitsandbytes.optim.AdamW8bit(groups, lr=lr)
    for batch in DataLoader(dataset, batch_size=rows):
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="hard_coded" code="other_learning_rate" seed=20011
# Source: the rates of the visible cases
# -     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     lr = 1e-3 if rows == 4 else 2e-3
# +     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}

# %% edit="copied_from_lesson" code="decay_zero"
# Source: same_run, whose weight_decay is 0.0
# -     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr}

# %% edit="adamw_of_torch" code="nothing_quantized"
# Source: the Trainer's own default
# -     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}

# %% edit="handed_over" code="embeddings_quantized"
# Source: an optimizer that is handed over has no overrides
# -     Trainer(model, arguments, train_dataset=dataset).train()
# +     matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == large] for large in (True, False))
# +     groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
# +     optimizer = bitsandbytes.optim.AdamW8bit(groups, lr=lr)
# +     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()

# %% edit="default_rate" code="other_learning_rate"
# Source: learning_rate left out
# -     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_bnb_8bit", "weight_decay": weight_decay}

# %% edit="default_rows" code="whole_group_in_one_forward"
# Source: batch size left out
# -     arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
# +     arguments = TrainingArguments(**(same_run | own))

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
