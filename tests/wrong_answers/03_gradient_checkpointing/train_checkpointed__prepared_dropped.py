# Source: a likely slip: prepare is called for its effect
# What prepare returns is not used.
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, loader = accelerate_model, DataLoader(dataset, batch_size=rows)
    accelerator.prepare(model, optimizer, loader)
    enable_checkpointing(accelerate_model)
    model.train()
    for batch in loader:
        batch = {name: values.to(accelerator.device) for name, values in batch.items()}
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
