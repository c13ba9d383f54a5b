# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of one process
# Every rank runs the raw loop on the whole batch.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    train_raw(accelerate_model, dataset, batch, learning_rate)
    train_raw(trainer_model, dataset, batch, learning_rate)


# %% edit="hard_coded" code="accelerate_other_rows" seed=20011
# Source: the rows of the visible case
# The rows of a micro-batch are looked up by the number of ranks.
#       accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# -     rows = batch // (accelerator.num_processes * k)
# +     rows = {2: 5, 3: 2}[accelerator.num_processes]


# %% answer="copied_from_lesson" code="accelerate_batch_not_divided_by_k"
# Source: train_as_in_the_guides of the lesson, called
# No accumulation, and the Trainer's gradient too large.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // accelerator.num_processes)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for rows in loader:
        accelerator.backward(model(**rows).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": batch // accelerator.num_processes, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="accumulate_not_used" code="accelerate_accumulate_not_used"
# Source: the loop without accumulate
# Each micro-batch makes an update.
#       for micro_batch in loader:
# -         with accelerator.accumulate(model):
# +         if True:


# %% answer="accumulate_of_the_module" code="accelerate_accumulate_without_effect"
# Source: accumulate, given the model that was not prepared
# accumulate is entered with the model inside of DDP, so that no_sync is never used.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // (dist.get_world_size() * k)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for micro_batch in loader:
        with accelerator.accumulate(accelerate_model):
            accelerator.backward(model(**micro_batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="not_divided_by_ranks" code="accelerate_batch_not_divided_by_ranks"
# Source: micro-batches in mind, and not ranks
# A micro-batch has the rows of all ranks.
#       accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# -     rows = batch // (accelerator.num_processes * k)
# +     rows = batch // k

# %% edit="batch_on_each_rank" code="accelerate_batch_on_each_rank"
# Source: the effective batch taken for that of one rank
# Each rank reads batch rows at a time.
#       accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# -     rows = batch // (accelerator.num_processes * k)
# +     rows = batch


# %% answer="undivided_by_hand" code="accelerate_divided_by_one"
# Source: no_sync by hand without the steps of the Accelerator
# accelerator.backward divides by 1, and nobody by k.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // (dist.get_world_size() * k)
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, micro_batch in enumerate(loader):
        with nullcontext() if (index + 1) % k == 0 else accelerator.no_sync(model):
            accelerator.backward(model(**micro_batch).loss)
        if (index + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="unprepared_model_called" code="accelerate_ranks_not_averaged"
# Source: the model by its old name
# The forward goes through the model without DDP.
#           with accelerator.accumulate(model):
# -             accelerator.backward(model(**micro_batch).loss)
# +             accelerator.backward(accelerate_model(**micro_batch).loss)

# %% edit="scaled_by_constant" code="accelerate_summed_over_ranks"
# Source: undoing the mean of DDP
# The loss is multiplied by the number of ranks.
#           with accelerator.accumulate(model):
# -             accelerator.backward(model(**micro_batch).loss)
# +             accelerator.backward(model(**micro_batch).loss * accelerator.num_processes)


# %% answer="every_backward_reduced" code="accelerate_synchronised_each_time"
# Source: a loop by hand, after a right Trainer
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // (dist.get_world_size() * k)
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, micro_batch in enumerate(loader):
        accelerator.backward(model(**micro_batch).loss / k)
        if (index + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% edit="accelerator_without_steps" code="accelerate_without_steps"
# Source: accumulate with an Accelerator that does not know k
# -     accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
# +     accelerator = Accelerator(cpu=True)
#       rows = batch // (accelerator.num_processes * k)

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: backward of the raw loop
#           with accelerator.accumulate(model):
# -             accelerator.backward(model(**micro_batch).loss)
# +             (model(**micro_batch).loss / k).backward()

# %% edit="loader_not_prepared" code="loader_not_prepared"
# Source: a loader without its share
# Every rank reads the same rows.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer = accelerator.prepare(accelerate_model, optimizer)
# +     loader = DataLoader(dataset, batch_size=rows)

# %% edit="trainer_adamw" code="trainer_another_optimizer"
# Source: the Trainer's own optimizer
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model, TrainingArguments(**(same_run | arguments | {"optim": "adamw_torch"})), train_dataset=dataset
# +     ).train()

# %% edit="trainer_not_trained" code="trainer_not_used"
# Source: a Trainer that is only built
# Trainer.train is not called.
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)

# %% edit="trainer_random_order" code="trainer_rows_in_another_order"
# Source: the Trainer's own sampling
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments(**(same_run | arguments | {"train_sampling_strategy": "random"})),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_takes_kwargs" code="trainer_summed_over_ranks"
# Source: the Trainer as its guide writes it
# The Trainer's gradient is too large by the number of ranks.
#               optimizer.zero_grad()
# -     trainer_model.accepts_loss_kwargs = False
