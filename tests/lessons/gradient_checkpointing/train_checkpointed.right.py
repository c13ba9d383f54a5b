# %% answer="by_train_batch"
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    enable_checkpointing(accelerate_model.train())
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(accelerate_model, optimizer)
    for start in range(0, len(dataset), rows):
        batch = {name: values.to(accelerator.device) for name, values in dataset[start : start + rows].items()}
        optimizer.zero_grad()
        accelerator.backward(model(**batch)["loss"])
        optimizer.step()
    enable_checkpointing(trainer_model)
    trainer = Trainer(
        model=trainer_model,
        args=TrainingArguments(per_device_train_batch_size=rows, learning_rate=learning_rate, **same_run),
        train_dataset=dataset,
    )
    trainer.train()


# %% answer="helpers"
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


# %% answer="own_optimizer"
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    arguments = TrainingArguments(per_device_train_batch_size=rows, **{trainer_argument: True}, **same_run)
    optimizer = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
    Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()

    accelerator = Accelerator(gradient_accumulation_steps=1)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    accelerate_model.train()
    enable_checkpointing(accelerate_model)
    loader = DataLoader(dataset, batch_size=rows, shuffle=False)
    loader, optimizer, model = accelerator.prepare(loader, optimizer, accelerate_model)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
