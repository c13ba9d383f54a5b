# Source: an optimizer handed to the Trainer
# Both optimizers are made by one function.
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
