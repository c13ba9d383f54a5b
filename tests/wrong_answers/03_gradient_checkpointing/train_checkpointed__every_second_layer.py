# Source: the newest versions of the library, which take every_n_layers
# Every second layer is checkpointed, the others keep everything.
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(
        accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=False)
    )
    enable_checkpointing(accelerate_model)
    for layer in accelerate_model.bert.encoder.layer[1::2]:
        layer.gradient_checkpointing = False
    model.train()
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
