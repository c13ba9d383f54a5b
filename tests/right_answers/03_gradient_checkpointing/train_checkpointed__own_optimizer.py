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
