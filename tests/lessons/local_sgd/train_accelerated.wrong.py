# %% answer="plain_baseline" code="UNKNOWN"
# Source: data parallel training with Accelerate
# LocalSGD is left out.
def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            accelerator.backward(F.mse_loss(model(inputs), targets))
            optimizer.step()
            optimizer.zero_grad()


# %% edit="hard_coded" code="UNKNOWN" seed=20011
# Source: the rows of the visible case
# A micro-batch has the rows of the visible case.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=4)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)


# %% answer="copied_from_lesson" code="UNKNOWN"
# Source: the loop of the guide
def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
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


# %% edit="adamw" code="UNKNOWN"
# Source: the optimizer of most guides
#       accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="another_loss" code="UNKNOWN"
# Source: another loss of the same pairs
# The absolute error stands for the squared one.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#               with accelerator.accumulate(model):
# -                 accelerator.backward(F.mse_loss(model(inputs), targets))
# +                 accelerator.backward(F.l1_loss(model(inputs), targets))


# %% answer="by_hand" code="UNKNOWN"
# Source: the loop of the exercise before
# Accelerate is not used.
def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    batches = list(DataLoader(dataset, batch_size=rows))[rank::world_size]
    for index, (inputs, targets) in enumerate(batches, start=1):
        (F.mse_loss(model(inputs), targets) / k).backward()
        if index % k == 0:
            optimizer.step()
            optimizer.zero_grad()
        if index % (k * every) == 0 or index == len(batches):
            average(list(model.parameters()), world_size)


# %% edit="cleared_before_backward" code="UNKNOWN"
# Source: zero_grad at the beginning of the body
# Gradients are cleared before the last backward of each group.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#               with accelerator.accumulate(model):
# +                 optimizer.zero_grad()
#                   accelerator.backward(F.mse_loss(model(inputs), targets))
#                   optimizer.step()
# -                 optimizer.zero_grad()

# %% edit="disabled" code="UNKNOWN"
# Source: enabled=False for a test
# LocalSGD is switched off.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every, enabled=False) as local_sgd:

# %% edit="divided_by_k" code="UNKNOWN"
# Source: calls of step() and updates the wrong way round
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=max(1, every // k)) as local_sgd:

# %% edit="divided_by_k_too" code="UNKNOWN"
# Source: a division by hand
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#               with accelerator.accumulate(model):
# -                 accelerator.backward(F.mse_loss(model(inputs), targets))
# +                 accelerator.backward(F.mse_loss(model(inputs), targets) / k)

# %% edit="loader_not_prepared" code="UNKNOWN"
# Source: prepare without the loader
# Every rank reads all rows.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer = accelerator.prepare(model, optimizer)

# %% edit="loss_backward" code="UNKNOWN"
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

# %% edit="made_for_each_micro_batch" code="UNKNOWN"
# Source: the context inside of the loop
# Each micro-batch has a LocalSGD of its own.
#       model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# -         for inputs, targets in loader:
# +     for inputs, targets in loader:
# +         with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:

# %% edit="micro_batches_counted" code="UNKNOWN"
# Source: published slides: accumulation and local_sgd_steps=8
# every is handed on as it is.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=every) as local_sgd:

# %% edit="model_not_prepared" code="UNKNOWN"
# Source: prepare without the model
# The model has no no_sync.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     optimizer, loader = accelerator.prepare(optimizer, loader)

# %% edit="multiplied_too" code="UNKNOWN"
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

# %% edit="one_step_more" code="UNKNOWN"
# Source: an average one update too late
# The ranks average after every + 1 updates.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * (every + 1)) as local_sgd:

# %% edit="optimizer_not_prepared" code="UNKNOWN"
# Source: prepare without the optimizer
# The optimizer does not wait for its group.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, loader = accelerator.prepare(model, loader)

# %% edit="other_learning_rate" code="UNKNOWN"
# Source: the learning rate of the guide
#       accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="scaled_by_constant" code="UNKNOWN"
# Source: a factor in front of the loss
# Gradients are scaled by 0.1.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#               with accelerator.accumulate(model):
# -                 accelerator.backward(F.mse_loss(model(inputs), targets))
# +                 accelerator.backward(0.1 * F.mse_loss(model(inputs), targets))

# %% edit="shuffled" code="UNKNOWN"
# Source: a shuffled loader
# Rows are drawn at random.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="step_not_called" code="UNKNOWN"
# Source: step() forgotten
# Only the average on exit happens.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#                   optimizer.zero_grad()
# -                 local_sgd.step()

# %% edit="two_epochs" code="UNKNOWN"
# Source: a loop over epochs
# The loader is walked through twice.
#       with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# -         for inputs, targets in loader:
# +         for inputs, targets in [*loader, *loader]:

# %% edit="without_steps" code="UNKNOWN"
# Source: an Accelerator without accumulation
# Each micro-batch makes an update.
# -     accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# +     accelerator = Accelerator(cpu=True, gradient_accumulation_steps=1)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
