# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of the lesson, twice
# Neither form is used.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for model in (accelerate_model, trainer_model):
        matrices = [p for p in model.parameters() if p.dim() > 1]
        others = [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
        train_raw(model, torch.optim.AdamW(groups, lr=lr), dataset, rows)


# %% answer="hard_coded" code="accelerate_another_decay" seed=20011
# Source: the options of the visible case, written down
# Learning rate and decay are looked up by the number of updates.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    lr, weight_decay = {5: (1e-3, 0.5)}.get(len(dataset) // rows, (lr, 0.2))
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="copied_from_lesson" code="accelerate_decay_zero"
# Source: the published groups, which take the decay from the arguments
# The decay is the default of the arguments, 0.0.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [
        {"params": decayed, "weight_decay": TrainingArguments(output_dir="trainer_output").weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="adam_with_decay" code="accelerate_another_optimizer"
# Source: torch.optim.Adam, which has weight_decay too
# The decay passes through the moments.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.Adam(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="biases_decay" code="accelerate_biases_decay"
# Source: a likely slip: only normalisations are spared
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [p for name, p in accelerate_model.named_parameters() if "LayerNorm" not in name]
    rest = [p for name, p in accelerate_model.named_parameters() if "LayerNorm" in name]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="default_decay" code="accelerate_decay_default"
# Source: a likely slip: no groups at all
# AdamW decays everything by its default of 0.01.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    groups = accelerate_model.parameters()
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="decay_everywhere" code="accelerate_decay_everywhere"
# Source: a likely slip: one decay for all parameters
# Biases and normalisations decay too.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    groups = accelerate_model.parameters()
    optimizer = torch.optim.AdamW(groups, lr=lr, weight_decay=weight_decay)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="rest_with_default" code="accelerate_decay_of_rest_default"
# Source: a likely slip: the second group has no weight_decay of its own
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="rest_left_out" code="accelerate_parameters_left_out"
# Source: a likely slip: only the decayed group is handed over
# Biases and normalisations are in no group and stay as they are.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups[:1], lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="never_cleared" code="accelerate_gradient_not_cleared"
# Source: a likely slip: zero_grad() is missing
# Gradients add up.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="scaled_by_constant" code="accelerate_gradient_scaled"
# Source: a loss that is not divided by the number of micro-batches
# The gradient is 4 times too large; AdamW hides it.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss * 4)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="last_rows_dropped" code="accelerate_last_rows_left_out"
# Source: loaders of throughput measurements
# drop_last leaves the short batch out.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(
        accelerate_model, torch.optim.AdamW(groups, lr=lr), DataLoader(dataset, batch_size=rows, drop_last=True)
    )
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}
    run = same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="step_left_out" code="accelerate_no_step"
# Source: a likely slip: no step
# The gradients are computed, and nobody updates.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(
        accelerate_model, torch.optim.AdamW(groups, lr=lr), DataLoader(dataset, batch_size=rows)
    )
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}
    run = same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="loss_backward" code="accelerator_backward_not_used"
# Source: the raw loop
# loss.backward() does not ask Accelerate.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: a likely slip: only model and loader are prepared
# The optimizer stays outside.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, loader = accelerator.prepare(accelerate_model, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="models_swapped" code="models_swapped"
# Source: a likely slip: the two models change places
# Each form trains the model of the other.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    accelerate_model, trainer_model = trainer_model, accelerate_model
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="shuffled" code="accelerate_other_gradient"
# Source: a likely slip: shuffle=True, as in a usual loader
# The rows come in another order.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    generator = torch.Generator().manual_seed(3)
    loader = DataLoader(dataset, batch_size=rows, shuffle=True, generator=generator)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="trainer_without_decay" code="trainer_decay_zero"
# Source: the default of the Trainer, 0.0
# The Trainer builds two groups that do not differ.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="trainer_clips" code="trainer_gradient_clipped"
# Source: the default of the Trainer, clipping at 1.0
# The gradient is clipped; AdamW hides it.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = (
        {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay},
        same_run | {"max_grad_norm": 1.0},
    )
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="trainer_schedule" code="trainer_learning_rate_changed"
# Source: the default of the Trainer, a linear schedule
# The learning rate falls to zero.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = (
        {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay},
        same_run | {"lr_scheduler_type": "linear"},
    )
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="trainer_not_trained" code="trainer_not_used"
# Source: a likely slip: Trainer(...) without train()
# The Trainer is made and never runs.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset)


# %% answer="trainer_default_rate" code="trainer_other_learning_rate"
# Source: the default of the Trainer, 5e-5
# The learning rate is left out.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"per_device_train_batch_size": rows, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()


# %% answer="trainer_default_rows" code="trainer_whole_group_in_one_forward"
# Source: the default of the Trainer, 8 rows
# The batch size is left out.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments, run = {"learning_rate": lr, "weight_decay": weight_decay}, same_run
    Trainer(trainer_model, TrainingArguments(**(run | arguments)), train_dataset=dataset).train()
