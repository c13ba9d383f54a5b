# %% answer="own_slice"
def train_batches_with_accelerate(model, dataset, batches, collate, learning_rate):
    accelerator = Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=learning_rate))
    for batch in batches:
        own = batch[accelerator.process_index :: accelerator.num_processes]
        accelerator.backward(model(**collate([dataset[row] for row in own])).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="no_even_batches"
def train_batches_with_accelerate(model, dataset, batches, collate, learning_rate):
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(even_batches=False))
    shares = []
    for batch in batches:
        for rank in range(accelerator.num_processes):
            shares.append(batch[rank :: accelerator.num_processes])
    loader = accelerator.prepare(DataLoader(dataset, batch_sampler=shares, collate_fn=collate))
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=learning_rate))
    for rows in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**rows).loss)
            optimizer.step()
            optimizer.zero_grad()


# %% answer="shares_unprepared"
def train_batches_with_accelerate(model, dataset, batches, collate, learning_rate):
    accelerator = Accelerator(cpu=True)
    own = [batch[accelerator.process_index :: accelerator.num_processes] for batch in batches]
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    for rows in DataLoader(dataset, batch_sampler=own, collate_fn=collate):
        optimizer.zero_grad()
        accelerator.backward(model(**rows).loss)
        optimizer.step()
