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
