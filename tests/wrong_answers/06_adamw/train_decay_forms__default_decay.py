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
