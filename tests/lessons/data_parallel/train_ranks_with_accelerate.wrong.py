# Not here: library_shortcut, because the task is to use the library.

# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw form
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    train_raw(model, dataset, batch, k, learning_rate)


# %% edit="hard_coded" code="accelerate_other_rows" seed=20011
# Source: the rows of the visible case
# -     loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
# +     loader = DataLoader(dataset, batch_size={2: 5, 3: 5}[accelerator.num_processes])

# %% edit="copied_from_lesson" code="accelerate_batch_not_divided_by_k"
# Source: lesson 2, where the loader's batch is that of a micro-batch
# -     loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
# +     loader = DataLoader(dataset, batch_size=batch // accelerator.num_processes)


# %% answer="trainer_instead" code="trainer_in_its_place"
# Source: the other form
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // (dist.get_world_size() * k)
    own = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    model.accepts_loss_kwargs = False
    Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()


# %% edit="accumulate_not_used" code="accelerate_update_every_micro_batch"
# Source: the loop without accumulate
#       for rows in loader:
# -         with accelerator.accumulate(model):
# +         if True:

# %% edit="accumulate_of_the_module" code="accelerate_accumulate_without_effect"
# Source: accumulate, given the model that was not prepared, so that no_sync is never used
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     module = model
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
#       for rows in loader:
# -         with accelerator.accumulate(model):
# +         with accelerator.accumulate(module):

# %% edit="not_divided_by_ranks" code="accelerate_batch_not_divided_by_ranks"
# Source: micro-batches in mind, and not ranks
# -     loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
# +     loader = DataLoader(dataset, batch_size=batch // k)

# %% edit="batch_on_each_rank" code="accelerate_batch_on_each_rank"
# Source: the effective batch taken for that of one rank
# -     loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
# +     loader = DataLoader(dataset, batch_size=batch)

# %% edit="unprepared_model_called" code="accelerate_ranks_not_averaged"
# Source: the model by its old name
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     replica, optimizer, loader = accelerator.prepare(model, optimizer, loader)
#       for rows in loader:
# -         with accelerator.accumulate(model):
# +         with accelerator.accumulate(replica):

# %% edit="times_ranks" code="accelerate_summed_over_ranks"
# Source: undoing the mean of DDP
#           with accelerator.accumulate(model):
# -             accelerator.backward(model(**rows).loss)
# +             accelerator.backward(model(**rows).loss * accelerator.num_processes)

# %% edit="divided_again" code="accelerate_gradient_divided_twice"
# Source: lesson 2's loss / k
#           with accelerator.accumulate(model):
# -             accelerator.backward(model(**rows).loss)
# +             accelerator.backward(model(**rows).loss / k)


# %% answer="every_backward_reduced" code="accelerate_synchronised_each_time"
# Source: accumulation by hand, without no_sync: right weights, and k times the bytes
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for index, rows in enumerate(loader, start=1):
        accelerator.backward(model(**rows).loss / k)
        if index % k == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% edit="without_steps" code="accelerate_update_every_micro_batch"
# Source: accumulate with an Accelerator that does not know k
# -     accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# +     accelerator = Accelerator(cpu=True)

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: backward of the raw loop
#           with accelerator.accumulate(model):
# -             accelerator.backward(model(**rows).loss)
# +             (model(**rows).loss / k).backward()

# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: only the model is wrapped
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     model, loader = accelerator.prepare(model, loader)

# %% edit="loader_not_prepared" code="accelerate_same_rows_on_every_rank"
# Source: a loader without its share
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     model, optimizer = accelerator.prepare(model, optimizer)
