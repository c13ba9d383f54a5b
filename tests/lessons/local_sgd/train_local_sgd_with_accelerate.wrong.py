# %% answer="plain_baseline" code="local_sgd_not_used"
# Source: data parallel training with Accelerate
# LocalSGD is left out.
def train_local_sgd_with_accelerate(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            accelerator.backward(F.mse_loss(model(inputs), targets))
            optimizer.step()
            optimizer.zero_grad()


# %% edit="hard_coded" code="other_rows" seed=20011
# Source: the rows of the visible case
# A micro-batch has the rows of the visible case.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=4)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)


# %% answer="copied_from_lesson" code="other_steps"
# Source: the loop of the guide
def train_local_sgd_with_accelerate(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(dataset, batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=8, enabled=True) as local_sgd:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                optimizer.zero_grad()
                local_sgd.step()


# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: loss.backward()
# The loss is not divided by k.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#               with accelerator.accumulate(model):
# -                 accelerator.backward(F.mse_loss(model(inputs), targets))
# +                 F.mse_loss(model(inputs), targets).backward()


# %% answer="by_hand" code="accelerator_not_used"
# Source: the loop of the exercise before
# Accelerate is not used.
def train_local_sgd_with_accelerate(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    batches = list(DataLoader(dataset, batch_size=rows))[rank::world_size]
    for index, (inputs, targets) in enumerate(batches, start=1):
        (F.mse_loss(model(inputs), targets) / k).backward()
        if index % k == 0:
            optimizer.step()
            optimizer.zero_grad()
        if index % (k * every) == 0 or index == len(batches):
            average_tensors(list(model.parameters()), world_size)


# %% edit="one_step_more" code="averaged_one_too_late"
# Source: an average one update too late
# The ranks average after every + 1 updates.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * (every + 1)) as local_sgd:

# %% edit="divided_by_k" code="divided_by_k"
# Source: calls of step() and updates the wrong way round
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=max(1, every // k)) as local_sgd:

# %% edit="divided_by_k_too" code="gradient_divided_twice"
# Source: a division by hand
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#               with accelerator.accumulate(model):
# -                 accelerator.backward(F.mse_loss(model(inputs), targets))
# +                 accelerator.backward(F.mse_loss(model(inputs), targets) / k)

# %% edit="loader_not_prepared" code="all_rows_on_every_rank"
# Source: prepare without the loader
# Every rank reads all rows.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer = accelerator.prepare(model, optimizer)

# %% edit="disabled" code="local_sgd_disabled"
# Source: enabled=False for a test
# LocalSGD is switched off.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every, enabled=False) as local_sgd:

# %% edit="made_for_each_micro_batch" code="local_sgd_made_again"
# Source: the context inside of the loop
# Each micro-batch has a LocalSGD of its own.
#       model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# -         for inputs, targets in loader:
# +     for inputs, targets in loader:
# +         with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:

# %% edit="micro_batches_counted" code="micro_batches_counted"
# Source: published slides: accumulation and local_sgd_steps=8
# every is handed on as it is.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=every) as local_sgd:

# %% edit="model_not_prepared" code="model_not_prepared"
# Source: prepare without the model
# The model has no no_sync.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     optimizer, loader = accelerator.prepare(optimizer, loader)

# %% edit="multiplied_too" code="multiplied_by_k_too"
# Source: step() moved, and the product kept
# step() is called for each update, with k x every.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#                   optimizer.zero_grad()
# -                 local_sgd.step()
# +                 if accelerator.sync_gradients:
# +                     local_sgd.step()

# %% edit="step_not_called" code="step_not_called"
# Source: step() forgotten
# Only the average on exit happens.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#                   optimizer.zero_grad()
# -                 local_sgd.step()

# %% edit="without_steps" code="update_every_micro_batch"
# Source: an Accelerator without accumulation
# Each micro-batch makes an update.
# -     accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# +     accelerator = Accelerator(cpu=True, gradient_accumulation_steps=1)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="learning_rate_of_the_lesson" code="other_weights"
# Source: lr=0.1, as in the loop of the guide
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %% edit="averaged_by_hand_too" code="more_sent"
# Source: the average of the exercise before, in addition to LocalSGD
#       with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# -         for inputs, targets in loader:
# +         for index, (inputs, targets) in enumerate(loader, start=1):
# ...
#                   local_sgd.step()
# +             if index % (k * every) == 0:
# +                 average_tensors(list(model.parameters()), dist.get_world_size())
