# Wrong answers to train_with_accelerate.
# Not here: hard_coded, because a run has no values that a cell shows.

# %% answer="plain_baseline" code="begun_again"
# Source: a run that saves and never loads
def train_with_accelerate(accelerator, model, optimizer, scheduler, loader, epochs, folder):
    for epoch in range(epochs):
        loader.set_epoch(epoch)
        for place, (inputs, targets) in enumerate(loader, start=1):
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                path = Path(folder) / f"save-{epoch:03}-{place:05}"
                if not path.exists():
                    save_run(accelerator, folder, epoch, place)


# %% answer="copied_from_lesson" code="other_form_used"
# Source: the raw loop of the exercise before
def train_with_accelerate(accelerator, model, optimizer, scheduler, loader, epochs, folder):
    for epoch in range(epochs):
        loader.set_epoch(epoch)
        for inputs, targets in loader:
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


# %% edit="library_shortcut" code="epoch_restarted"
# Source: load_state, and nothing else
# -         batches = accelerator.skip_first_batches(loader, place) if place else loader
# +         batches = loader

# %% edit="no_epoch" code="order_of_the_first_epoch"
# Source: the loader counts epochs itself
# -         batches.set_epoch(current)
# +         pass

# %% edit="epoch_of_the_whole_loader" code="order_of_the_first_epoch"
# Source: set_epoch after the loader that skips was made
# -         batches.set_epoch(current)
# +         loader.set_epoch(current)

# %% edit="each_micro_batch" code="saved_within_a_group"
# Source: a save after each micro-batch
# -             if accelerator.sync_gradients:
# -                 save_run(accelerator, folder, current, done)
# +             save_run(accelerator, folder, current, done)

# %% edit="always_skipped" code="skipped_in_every_epoch"
# Source: the place is never set back
# -                 save_run(accelerator, folder, current, done)
# -         place = 0
# +                 save_run(accelerator, folder, current, done)

# %% edit="more_epochs" code="trained_too_far"
# Source: epochs after the restart
# -     for current in range(epoch, epochs):
# +     for current in range(epoch, epoch + epochs):

# %% edit="weights_alone" code="moments_lost"
# Source: save_model and the weights
# -         accelerator.load_state(path)
# +         from safetensors.torch import load_file
# +
# +         model.load_state_dict(load_file(path / "model.safetensors"))

# %% edit="seeded_again" code="dropout_drawn_again"
# Source: a seed for reproducibility, after loading
# -         accelerator.load_state(path)
# +         accelerator.load_state(path)
# +         torch.manual_seed(0)

# %% edit="one_too_many" code="another_place_of_the_epoch"
# Source: counted from 1 and from 0
# -         batches = accelerator.skip_first_batches(loader, place) if place else loader
# +         batches = accelerator.skip_first_batches(loader, place + accelerator.gradient_accumulation_steps) if place else loader
