# Right answers to attention_with_accelerate.

# %% answer="after_prepare"
def attention_with_accelerate(model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows, shuffle=False)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.unwrap_model(model).set_attn_implementation("sdpa")
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()


# %% answer="by_the_config"
def attention_with_accelerate(model, dataset, rows, learning_rate):
    model.config._attn_implementation = "sdpa"
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="accumulate_of_one"
def attention_with_accelerate(model, dataset, rows, learning_rate):
    model.set_attn_implementation("sdpa")
    accelerator = Accelerator(gradient_accumulation_steps=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
