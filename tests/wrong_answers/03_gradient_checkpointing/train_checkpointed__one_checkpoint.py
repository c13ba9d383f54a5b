# Source: a likely slip: one checkpoint around forward and loss
# The whole model is one checkpoint.
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(
        accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=False)
    )
    model.train()
    for batch in loader:
        accelerator.backward(checkpoint(lambda batch=batch: model(**batch).loss, use_reentrant=False))
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
