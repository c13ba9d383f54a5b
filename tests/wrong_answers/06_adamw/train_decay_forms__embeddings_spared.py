# Source: a likely slip: embeddings are taken for no matrices
# The embeddings do not decay.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    decayed = [p for name, p in accelerate_model.named_parameters() if p.dim() > 1 and "embeddings" not in name]
    rest = [p for name, p in accelerate_model.named_parameters() if p.dim() < 2 or "embeddings" in name]
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
