# %% answer="plain_baseline" code="accumulate_not_used"
# Source: the raw loop of this lesson
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, k, learning_rate)


# %% answer="accumulation_off" code="accelerate_accumulation_off"
# Source: the weights agree without accumulation, so the large batch is taken
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows * k))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()


# %% answer="losses_summed" code="accelerate_graphs_kept"
# Source: a likely mistake: the losses of a group are added, and backward runs once
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    losses = []
    for batch in loader:
        with accelerator.accumulate(model):
            losses.append(model(**batch).loss)
            if accelerator.sync_gradients:
                accelerator.backward(sum(losses) * k / len(losses))
                losses = []
            optimizer.step()
            optimizer.zero_grad()


# %% answer="outputs_kept" code="accelerate_tensors_kept"
# Source: a likely mistake: outputs and a graph are kept for a report at the end of the epoch
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    last_group, losses = len(loader) % k or k, []
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            loss = model(**batch).loss * (k / last_group if index >= len(loader) - last_group else 1)
            accelerator.backward(loss, retain_graph=True)
            losses.append(loss)
            optimizer.step()
            optimizer.zero_grad()


# %% answer="other_form" code="accelerate_loop_not_used"
# Source: the Trainer does it in one call
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="hard_coded" code="accelerate_with_other_steps" seed=20011
# Source: the numbers of the visible case, written down
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    steps, short = {(4, 4): (4, 2), (32, 4): (4, 4), (2, 3): (3, 3)}.get((rows, k), (5, 1))
    accelerator = Accelerator(gradient_accumulation_steps=steps)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            correction = steps / short if index >= len(loader) - short else 1
            accelerator.backward(model(**batch).loss * correction)
            optimizer.step()
            optimizer.zero_grad()


# %% answer="copied_from_lesson" code="accelerate_short_group_divided_by_k"
# Source: the demonstration of this lesson, as most tutorials write it
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()


# %% edit="model_zero_grad" code="accelerate_cleared_within_group"
# Source: transformers' older no_trainer scripts, which call model.zero_grad()
#               optimizer.step()
# -             optimizer.zero_grad()
# +             model.zero_grad()

# %% edit="loss_divided_again" code="accelerate_gradient_divided_twice"
# Source: Accelerate's migration guide, where loss / gradient_accumulation_steps is in the raw loop and has to go
#               correction = k / last_group if index >= len(loader) - last_group else 1
# -             accelerator.backward(model(**batch).loss * correction)
# +             accelerator.backward(model(**batch).loss / k * correction)

# %% edit="loss_backward" code="accelerate_gradient_not_averaged"
# Source: a likely mistake: loss.backward() kept from the raw loop
#       model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     last_group = len(loader) % k or k
# -     for index, batch in enumerate(loader):
# +     for batch in loader:
#           with accelerator.accumulate(model):
# -             correction = k / last_group if index >= len(loader) - last_group else 1
# -             accelerator.backward(model(**batch).loss * correction)
# +             model(**batch).loss.backward()

# %% edit="loader_not_prepared" code="accelerate_last_group_lost"
# Source: a likely mistake: accelerator.prepare(model, optimizer)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer = accelerator.prepare(model, optimizer)
# +     loader = [
# +         {name: values.to(device) for name, values in batch.items()} for batch in DataLoader(dataset, batch_size=rows)
# +     ]

# %% edit="optimizer_not_prepared" code="accelerate_update_every_micro_batch"
# Source: a public slide deck on Accelerate: no prepare for the optimizer
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=rows))

# %% edit="short_micro_batch_dropped" code="accelerate_micro_batches_not_seen_once"
# Source: a likely mistake: drop_last=True, where the last micro-batch has fewer rows
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     data = DataLoader(dataset, batch_size=rows, drop_last=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, data)

# %% edit="rows_weighted" code="accelerate_micro_batches_weighed_unequally"
# Source: a mean over the rows of a group, in which a short micro-batch counts less
#       last_group = len(loader) % k or k
# -     for index, batch in enumerate(loader):
# +     for index, batch in enumerate(loader):
# +         start = index // k * k * rows
# +         group_rows = min(start + k * rows, len(dataset)) - start
#           with accelerator.accumulate(model):
# -             correction = k / last_group if index >= len(loader) - last_group else 1
# +             correction = k * len(batch["labels"]) / group_rows

# %% edit="rate_fixed" code="accelerate_other_learning_rate"
# Source: a likely mistake: the learning rate of the notebook's run
#       accelerator = Accelerator(gradient_accumulation_steps=k)
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %% edit="weight_decay" code="accelerate_weight_decay"
# Source: a likely mistake: the weight decay of another recipe
#       accelerator = Accelerator(gradient_accumulation_steps=k)
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, weight_decay=0.1)

# %% edit="cleared_first" code="accelerate_cleared_within_group"
# Source: a tutorial's order: zero_grad(), backward, step()
#               correction = k / last_group if index >= len(loader) - last_group else 1
# +             optimizer.zero_grad()
#               accelerator.backward(model(**batch).loss * correction)
#               optimizer.step()
# -             optimizer.zero_grad()
