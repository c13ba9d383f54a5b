# Right answers to train_with_accelerate.

# %% answer="one_loop"
def train_with_accelerate(accelerator, model, optimizer, scheduler, loader, epochs, folder):
    path, epoch, place = newest_save(folder) or (None, 0, 0)
    if path is not None:
        accelerator.load_state(str(path))
    while epoch < epochs:
        batches = accelerator.skip_first_batches(loader, place)
        batches.set_epoch(epoch)
        for batch in batches:
            place += 1
            with accelerator.accumulate(model):
                loss = (model(batch[0]) - batch[1]).square().mean()
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                if accelerator.sync_gradients:
                    save_run(accelerator, folder, epoch, place)
        epoch, place = epoch + 1, 0


# %% answer="passed_over_by_hand"
def train_with_accelerate(accelerator, model, optimizer, scheduler, loader, epochs, folder):
    found = newest_save(folder)
    first, skipped = (found[1], found[2]) if found else (0, 0)
    for epoch in range(first, epochs):
        batches = accelerator.skip_first_batches(loader, skipped if epoch == first else 0)
        batches.set_epoch(epoch)
        if found and epoch == first:
            accelerator.load_state(found[0])
        for place, (inputs, targets) in enumerate(batches):
            with accelerator.accumulate(model):
                accelerator.backward(nn.MSELoss()(model(inputs), targets))
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                save_run(accelerator, folder, epoch, place + 1 + (skipped if epoch == first else 0))


# %% answer="keywords"
def train_with_accelerate(accelerator, model, optimizer, scheduler, loader, epochs, folder):
    saved = newest_save(folder)
    if saved is None:
        done = 0
    else:
        accelerator.load_state(input_dir=str(saved[0]))
        done = saved[1] * len(loader) + saved[2]
    while done < epochs * len(loader):
        epoch, place = divmod(done, len(loader))
        batches = accelerator.skip_first_batches(dataloader=loader, num_batches=place)
        batches.set_epoch(epoch)
        for inputs, targets in batches:
            done += 1
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                save_run(accelerator, folder, epoch, done - epoch * len(loader))
