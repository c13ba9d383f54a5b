# %% answer="optimizer_for_both"
# Source: an optimizer handed to the Trainer
def train_eight_bit_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    accelerator = Accelerator()
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(accelerate_model, _make(accelerate_model, lr, weight_decay), loader)
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    handed = (_make(trainer_model, lr, weight_decay), None)
    arguments = TrainingArguments(**same_run, per_device_train_batch_size=rows, learning_rate=lr)
    Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=handed).train()


def _make(model, lr, weight_decay):
    for module in model.modules():
        if type(module) is torch.nn.Embedding:
            manager.register_module_override(module, "weight", {"optim_bits": 32})
    groups = [
        {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    return bitsandbytes.optim.AdamW8bit(groups, lr=lr)


# %% edit="override_config"
# Source: override_config of the parameters
# The manager takes parameters here, and AdamW keeps its 8 bits.
# -     for module in accelerate_model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
# +     tables = [m.weight for m in accelerate_model.modules() if isinstance(m, torch.nn.Embedding)]
# +     manager.override_config(tables, "optim_bits", 32)
#       decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
#       rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
#       groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = bitsandbytes.optim.AdamW(groups, lr=lr, optim_bits=8), Accelerator()


# %% answer="trainer_first"
# Source: the Trainer first, four groups
# The Trainer comes first, and the manager forgets in between.
def train_eight_bit_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    arguments = {**same_run, "optim": "adamw_bnb_8bit", "per_device_train_batch_size": rows}
    arguments |= {"learning_rate": lr, "weight_decay": weight_decay}
    Trainer(trainer_model, TrainingArguments(**arguments), train_dataset=dataset).train()
    manager.initialize()
    tables = [m.weight for m in accelerate_model.modules() if isinstance(m, torch.nn.Embedding)]
    for table in tables:
        manager.override_config(table, key_value_dict={"optim_bits": 32})
    groups = [{"params": [p], "weight_decay": weight_decay * (p.dim() > 1)} for p in accelerate_model.parameters()]
    accelerator = Accelerator()
    prepared = accelerator.prepare(
        DataLoader(dataset, rows), accelerate_model, bitsandbytes.optim.AdamW8bit(groups, lr)
    )
    for batch in prepared[0]:
        accelerator.backward(prepared[1](**batch).loss)
        prepared[2].step()
        prepared[2].zero_grad()
