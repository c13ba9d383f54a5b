# %% answer="no_sync_by_hand"
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True)
    replica = accelerator.prepare(model)
    optimizer = accelerator.prepare(torch.optim.SGD(replica.parameters(), lr=learning_rate))
    loader = accelerator.prepare(DataLoader(dataset, batch_size=batch // accelerator.num_processes // k))
    for index, rows in enumerate(loader):
        is_last = index % k == k - 1
        with nullcontext() if is_last else accelerator.no_sync(replica):
            accelerator.backward(replica(**rows).loss / k)
        if is_last:
            optimizer.step()
            optimizer.zero_grad()


# %% answer="split_batches"
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    options = DataLoaderConfiguration(split_batches=True)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k, dataloader_config=options)
    loader = DataLoader(dataset, batch_size=batch // k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for rows in loader:
        with accelerator.accumulate(model):
            output = model(**rows)
            accelerator.backward(output.loss)
            optimizer.step()
            optimizer.zero_grad()


# %% answer="own_sampler"
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=learning_rate))
    sampler = DistributedSampler(dataset, shuffle=False)
    rows_each = batch // (accelerator.num_processes * k)
    for index, rows in enumerate(DataLoader(dataset, batch_size=rows_each, sampler=sampler), start=1):
        accelerator.gradient_state._set_sync_gradients(index % k == 0)
        with nullcontext() if index % k == 0 else accelerator.no_sync(model):
            accelerator.backward(model(**rows).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="sync_gradients_asked"
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    prepared = accelerator.prepare(
        DataLoader(dataset, batch_size=batch // dist.get_world_size() // k),
        torch.optim.SGD(model.parameters(), learning_rate),
        model,
    )
    for rows in prepared[0]:
        with accelerator.accumulate(prepared[2]):
            accelerator.backward(prepared[2].forward(**rows).loss)
            if accelerator.sync_gradients:
                prepared[1].step()
                prepared[1].zero_grad()
