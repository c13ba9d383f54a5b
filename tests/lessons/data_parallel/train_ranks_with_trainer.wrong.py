# Not here: library_shortcut, because the task is to use the library.

# %% answer="plain_baseline" code="trainer_not_used"
# Source: the raw form
def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    train_raw(model, dataset, batch, k, learning_rate)


# %% edit="hard_coded" code="trainer_other_rows" seed=20011
# Source: the rows of the visible case
# -     rows = batch // (dist.get_world_size() * k)
# +     rows = {2: 5, 3: 5}[dist.get_world_size()]


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the Accelerate form
def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for rows in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**rows).loss)
            optimizer.step()
            optimizer.zero_grad()


# %% edit="takes_kwargs" code="trainer_summed_over_ranks"
# Source: the Trainer as its guide writes it
# -     model.accepts_loss_kwargs = False

# %% edit="adamw" code="trainer_another_optimizer"
# Source: the Trainer's own optimizer
# -     Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**(same_run | own | {"optim": "adamw_torch"})), train_dataset=dataset).train()

# %% edit="not_trained" code="trainer_not_used"
# Source: a Trainer that is only built
# -     Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset)

# %% edit="random_order" code="trainer_rows_in_another_order"
# Source: the Trainer's own sampling
# -     Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()
# +     arguments = TrainingArguments(**(same_run | own | {"train_sampling_strategy": "random"}))
# +     Trainer(model, arguments, train_dataset=dataset).train()

# %% edit="not_divided_by_ranks" code="trainer_batch_not_divided_by_ranks"
# Source: per_device taken for all devices
# -     rows = batch // (dist.get_world_size() * k)
# +     rows = batch // k

# %% edit="not_divided_by_k" code="trainer_batch_not_divided_by_k"
# Source: ranks in mind, and not micro-batches
# -     rows = batch // (dist.get_world_size() * k)
# +     rows = batch // dist.get_world_size()

# %% edit="default_rows" code="trainer_default_rows"
# Source: the default of per_device_train_batch_size
# -     own = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     own = {"gradient_accumulation_steps": k, "learning_rate": learning_rate}

# %% edit="without_steps" code="trainer_update_every_micro_batch"
# Source: the default of gradient_accumulation_steps
# -     own = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     own = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="sync_each_batch" code="trainer_synchronised_each_time"
# Source: Accelerate's guide, where sync_each_batch saves memory under FSDP
# -     own = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     own = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     own["accelerator_config"] = {"gradient_accumulation_kwargs": {"num_steps": k, "sync_each_batch": True}}
