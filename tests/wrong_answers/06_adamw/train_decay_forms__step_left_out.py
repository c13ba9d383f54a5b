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
