def loop_with_accelerate(model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    loader = DataLoader(dataset, batch_size=rows)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, sgd, loader = accelerator.prepare(model, sgd, loader)
    accelerator.unwrap_model(model).train()
    enable_checkpointing(accelerator.unwrap_model(model))
    for batch in loader:
        sgd.zero_grad()
        outputs = model(**batch)
        accelerator.backward(outputs.loss)
        sgd.step()


def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    loop_with_accelerate(accelerate_model, dataset, rows, learning_rate)
    own = dict(same_run)
    own[trainer_argument] = True
    own["per_device_train_batch_size"] = rows
    own["learning_rate"] = learning_rate
    Trainer(trainer_model, TrainingArguments(**own), train_dataset=dataset).train()
