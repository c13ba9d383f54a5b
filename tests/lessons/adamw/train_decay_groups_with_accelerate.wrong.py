# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of the lesson
def train_decay_groups_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    train_raw(model, torch.optim.AdamW(groups, lr=lr), dataset, rows)


# %% answer="the_other_form" code="trainer_in_its_place"
# Source: the Trainer in place of a loop
def train_decay_groups_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    own = {"optim": "adamw_torch", "learning_rate": lr, "weight_decay": weight_decay}
    arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
    Trainer(model, arguments, train_dataset=dataset).train()


# %% edit="hard_coded" code="another_decay" seed=20011
# Source: the decays of the visible cases
#       rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
# -     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# +     weight_decay = 0.5 if rows == 4 else 0.2
# +     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]

# %% edit="copied_from_lesson" code="decay_zero"
# Source: the published groups, which take the decay from TrainingArguments
# -     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# +     published = TrainingArguments("trainer_output").weight_decay
# +     groups = [{"params": decayed, "weight_decay": published}, {"params": rest, "weight_decay": 0.0}]

# %% edit="one_group" code="decay_default"
# Source: AdamW of all parameters
# -     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = torch.optim.AdamW(model.parameters(), lr=lr), Accelerator()

# %% edit="decay_everywhere" code="decay_everywhere"
# Source: one decay for all
# -     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
# +     accelerator = Accelerator()

# %% edit="by_name_alone" code="normalisations_decay"
# Source: a rule by name: bias does not decay
# -     decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
# -     rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
# +     decayed = [p for name, p in model.named_parameters() if "bias" not in name]
# +     rest = [p for name, p in model.named_parameters() if "bias" in name]

# %% edit="rest_with_default" code="decay_of_rest_default"
# Source: a second group without weight_decay
# -     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# +     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest}]

# %% edit="rest_left_out" code="parameters_left_out"
# Source: only the decayed group
# -     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# +     groups = [{"params": decayed, "weight_decay": weight_decay}]

# %% edit="adam_with_decay" code="adam_in_place_of_adamw"
# Source: torch.optim.Adam, which has weight_decay too
# -     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = torch.optim.Adam(groups, lr=lr), Accelerator()

# %% edit="amsgrad" code="third_moment_kept"
# Source: amsgrad=True: equal weights after few updates, and one more moment
# -     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr, amsgrad=True), Accelerator()

# %% edit="bf16" code="autocast_on"
# Source: mixed_precision of lesson 05
# -     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator(mixed_precision="bf16", cpu=True)

# %% edit="never_cleared" code="gradient_not_cleared"
# Source: zero_grad left out
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a loss that is not divided by the micro-batches of an accumulation
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(4 * model(**batch).loss)

# %% edit="last_rows_dropped" code="last_rows_left_out"
# Source: PyTorch, DataLoader: drop_last
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, drop_last=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: the raw loop
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: only model and loader are prepared
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=rows))

# %% edit="unprepared_optimizer_stepped" code="prepared_optimizer_not_used"
# Source: prepare is called, and what it returns is dropped
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, _, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))

# %% edit="copy_trained" code="another_model"
# Source: a copy is trained
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     import copy
# +
# +     model, optimizer, loader = accelerator.prepare(
# +         copy.deepcopy(model), optimizer, DataLoader(dataset, batch_size=rows)
# +     )

# %% edit="forward_called" code="forward_called"
# Source: model.forward, as other languages call a method
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model.forward(**batch).loss)

# %% edit="listed_names" code="listed_names_spared"
# Source: the list of names of BERT's own scripts
# -     decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
# -     rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
# +     listed = ("bias", "LayerNorm.weight")
# +     decayed = [p for name, p in model.named_parameters() if not any(part in name for part in listed)]
# +     rest = [p for name, p in model.named_parameters() if any(part in name for part in listed)]
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]

# %% edit="two_dimensions" code="stacks_spared"
# Source: a likely slip: == 2 for > 1
# -     decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
# -     rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
# +     decayed = [parameter for parameter in model.parameters() if parameter.dim() == 2]
# +     rest = [parameter for parameter in model.parameters() if parameter.dim() != 2]
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
