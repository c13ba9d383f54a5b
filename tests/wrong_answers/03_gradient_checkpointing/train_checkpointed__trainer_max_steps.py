# Source: a line for a short trial that stayed
# The Trainer stops after two updates.
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    enable_checkpointing(accelerate_model)
    model.train()
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {
        "per_device_train_batch_size": rows,
        "learning_rate": learning_rate,
        "max_steps": 2,
        trainer_argument: True,
    }
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
