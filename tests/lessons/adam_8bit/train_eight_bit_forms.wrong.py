# %% answer="plain_baseline" code="accelerator_not_used"
# Source: a raw loop, twice
# Neither form is used.
def train_eight_bit_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for model in (accelerate_model, trainer_model):
        optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=lr, weight_decay=weight_decay)
        for batch in DataLoader(dataset, batch_size=rows):
            model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
            optimizer.step()
            optimizer.zero_grad()


# %% edit="hard_coded" code="accelerate_another_decay" seed=20011
# Source: the options of the visible case
# Rate and decay are looked up by the number of rows.
#               manager.register_module_override(module, "weight", {"optim_bits": 32})
# +     lr, weight_decay = {4: (1e-3, 0.5)}.get(rows, (2e-3, 0.25))

# %% edit="copied_from_lesson" code="accelerate_decay_default"
# Source: the real run of the lesson: AdamW8bit of all parameters
# One group, embeddings as codes.
# -     for module in accelerate_model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
#       decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
#       rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(accelerate_model.parameters(), lr=lr), Accelerator()

# %% edit="adamw_of_torch" code="accelerate_nothing_quantized"
# Source: AdamW of PyTorch under Accelerate
# Accelerate's form has no codes.
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()

# %% edit="decay_everywhere" code="accelerate_decay_everywhere"
# Source: one group
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = (
# +         bitsandbytes.optim.AdamW8bit(accelerate_model.parameters(), lr=lr, weight_decay=weight_decay),
# +         Accelerator(),
# +     )

# %% edit="default_decay" code="accelerate_decay_zero"
# Source: two groups from TrainingArguments().weight_decay
# Both groups have a decay of 0.0.
#       rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
# -     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# +     groups = [
# +         {"params": decayed, "weight_decay": TrainingArguments("out").weight_decay},
# +         {"params": rest, "weight_decay": 0.0},
# +     ]

# %% edit="scaled_by_constant" code="accelerate_divided_by_another_number"
# Source: accumulation over 4 micro-batches that is none
# Gradients under Accelerate count a quarter.
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model(**batch).loss / 4)

# %% edit="embeddings_quantized" code="accelerate_embeddings_quantized"
# Source: AdamW8bit as any other optimizer
# Accelerate's form has codes for embeddings.
# -     for module in accelerate_model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
#       decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]

# %% edit="first_override_only" code="accelerate_one_embedding_quantized"
# Source: a loop that ends at its first hit
#               manager.register_module_override(module, "weight", {"optim_bits": 32})
# +             break

# %% edit="matrices_overridden" code="accelerate_other_modules_overridden"
# Source: Linear for Embedding
# Matrices stay in float32, embeddings do not.
#       for module in accelerate_model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# +         if isinstance(module, torch.nn.Linear):

# %% edit="small_quantized" code="accelerate_other_tensors_quantized"
# Source: min_8bit_size
# Small tensors have codes in Accelerate's form.
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr, min_8bit_size=0), Accelerator()

# %% edit="never_cleared" code="accelerate_gradient_not_cleared"
# Source: zero_grad left out
# Gradients add up.
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="last_rows_dropped" code="accelerate_last_rows_left_out"
# Source: drop_last of a DataLoader
# The short last batch is left out.
#       optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, drop_last=True)
# +     )

# %% edit="shuffled" code="accelerate_other_gradient"
# Source: shuffle=True
# Rows come in another order.
#       optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=True)
# +     )

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: the raw loop's backward
# accelerator.backward is not called.
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: the loop of the slides
#       optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(accelerate_model, DataLoader(dataset, batch_size=rows))


# %% answer="models_swapped" code="models_swapped"
# Source: names mixed up
# Each form trains the other model.
def train_eight_bit_forms(trainer_model, accelerate_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for module in accelerate_model.modules():
        if isinstance(module, torch.nn.Embedding):
            manager.register_module_override(module, "weight", {"optim_bits": 32})
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
    Trainer(trainer_model, TrainingArguments(per_device_train_batch_size=rows, **arguments), None, dataset).train()


# %% edit="trainer_without_decay" code="trainer_decay_zero"
# Source: weight_decay left out
#           optimizer.zero_grad()
# -     arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr}

# %% edit="trainer_handed_an_optimizer" code="trainer_embeddings_quantized"
# Source: optimizers=(optimizer, None)
#       arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# -     Trainer(trainer_model, TrainingArguments(per_device_train_batch_size=rows, **arguments), None, dataset).train()
# +     own = [p for p in trainer_model.parameters() if p.dim() > 1], [p for p in trainer_model.parameters() if p.dim() < 2]
# +     groups = [{"params": own[0], "weight_decay": weight_decay}, {"params": own[1], "weight_decay": 0.0}]
# +     manager.initialize()
# +     handed = (bitsandbytes.optim.AdamW8bit(groups, lr=lr), None)
# +     configured = TrainingArguments(per_device_train_batch_size=rows, **arguments)
# +     Trainer(trainer_model, configured, None, dataset, optimizers=handed).train()

# %% edit="trainer_clips" code="trainer_gradient_clipped"
# Source: max_grad_norm of the default
#           optimizer.zero_grad()
# -     arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     arguments = {name: value for name, value in same_run.items() if name != "max_grad_norm"} | {
# +         "optim": "adamw_bnb_8bit",
# +         "learning_rate": lr,
# +         "weight_decay": weight_decay,
# +     }

# %% edit="trainer_not_trained" code="trainer_not_used"
# Source: a Trainer that only stands there
# Nobody calls train.
#       arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# -     Trainer(trainer_model, TrainingArguments(per_device_train_batch_size=rows, **arguments), None, dataset).train()
# +     Trainer(trainer_model, TrainingArguments(per_device_train_batch_size=rows, **arguments), None, dataset)

# %% edit="trainer_default_optimizer" code="trainer_nothing_quantized"
# Source: optim left out
# The Trainer takes fused AdamW.
#           optimizer.zero_grad()
# -     arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     arguments = same_run | {"learning_rate": lr, "weight_decay": weight_decay}

# %% edit="trainer_default_rate" code="trainer_other_learning_rate"
# Source: learning_rate left out
#           optimizer.zero_grad()
# -     arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     arguments = same_run | {"optim": "adamw_bnb_8bit", "weight_decay": weight_decay}

# %% edit="trainer_default_rows" code="trainer_whole_group_in_one_forward"
# Source: batch size left out
#       arguments = same_run | {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# -     Trainer(trainer_model, TrainingArguments(per_device_train_batch_size=rows, **arguments), None, dataset).train()
# +     Trainer(trainer_model, TrainingArguments(**arguments), None, dataset).train()
