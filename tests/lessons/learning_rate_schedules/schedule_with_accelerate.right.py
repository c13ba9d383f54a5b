# Right answers to schedule_with_accelerate.

# %% answer="schedule_when_synchronised"
def schedule_with_accelerate(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    updates = math.ceil(len(dataset) / (rows * k))
    scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch)["loss"])
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            if accelerator.sync_gradients:
                scheduler.step()
            optimizer.zero_grad()


# %% answer="cosine_by_hand"
def schedule_with_accelerate(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    updates = len(dataset) // rows // k
    first = math.ceil(updates * warm_up)

    def factor(update):
        if update < first:
            return update / first
        return (1 + math.cos(math.pi * (update - first) / (updates - first))) / 2

    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    parts = model, optimizer, DataLoader(dataset, batch_size=rows), LambdaLR(optimizer, factor)
    model, optimizer, loader, scheduler = accelerator.prepare(*parts)
    model.train()
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


# %% answer="loader_not_prepared"
def schedule_with_accelerate(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    accelerator = Accelerator(gradient_accumulation_steps=k)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=learning_rate))
    updates = len(loader) // k
    scheduler = accelerator.prepare(get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**{name: values.to(device) for name, values in batch.items()}).loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
