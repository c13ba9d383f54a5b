# Source: the names that the Trainer decays
# get_decay_parameter_names decides in both forms.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    arguments = TrainingArguments(
        per_device_train_batch_size=rows, learning_rate=lr, weight_decay=weight_decay, optim="adamw_torch", **same_run
    )
    trainer = Trainer(trainer_model, arguments, train_dataset=dataset)
    names = set(trainer.get_decay_parameter_names(trainer_model))
    groups = [
        {"params": [parameter], "weight_decay": weight_decay * (name in names)}
        for name, parameter in accelerate_model.named_parameters()
    ]
    accelerator = Accelerator()
    model = accelerator.prepare_model(accelerate_model)
    optimizer = accelerator.prepare_optimizer(torch.optim.AdamW(groups, lr=lr, fused=True))
    for batch in accelerator.prepare_data_loader(DataLoader(dataset, batch_size=rows)):
        loss = model(**batch)["loss"]
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    trainer.train()
