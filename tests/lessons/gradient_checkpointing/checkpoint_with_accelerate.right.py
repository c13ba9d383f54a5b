# %% answer="rows_from_the_dataset"
def checkpoint_with_accelerate(model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    enable_checkpointing(model.train())
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    for start in range(0, len(dataset), rows):
        batch = {name: values.to(accelerator.device) for name, values in dataset[start : start + rows].items()}
        optimizer.zero_grad()
        accelerator.backward(model(**batch)["loss"])
        optimizer.step()


# %% answer="unwrapped"
def checkpoint_with_accelerate(model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, sgd, loader = accelerator.prepare(model, sgd, DataLoader(dataset, batch_size=rows))
    accelerator.unwrap_model(model).train()
    enable_checkpointing(accelerator.unwrap_model(model))
    for batch in loader:
        sgd.zero_grad()
        outputs = model(**batch)
        accelerator.backward(outputs.loss)
        sgd.step()


# %% answer="by_forward_and_closure"
def checkpoint_with_accelerate(model, dataset, rows, learning_rate):
    accelerator = Accelerator(gradient_accumulation_steps=1)
    model.train()
    enable_checkpointing(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows, shuffle=False)
    loader, optimizer, model = accelerator.prepare(loader, optimizer, model)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
