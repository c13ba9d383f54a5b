# Source: Linear for Embedding
# Matrices stay in float32, embeddings do not.
def train_eight_bit_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for module in accelerate_model.modules():
        if isinstance(module, torch.nn.Linear):
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
