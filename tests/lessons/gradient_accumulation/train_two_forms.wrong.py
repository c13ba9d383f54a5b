# %% answer="plain_baseline" code="accumulate_not_used"
# Source: the raw loop of this lesson
# The loop that both forms are compared with trains both models.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_raw(accelerate_model, dataset, rows, k, learning_rate)
    train_raw(trainer_model, dataset, rows, k, learning_rate)


# %% answer="hard_coded" code="accelerator_with_other_steps" seed=20011
# Source: the numbers of the visible case, written down
# The lesson's k and its last group are the only ones there are.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    steps, short = {40: (4, 2), 33: (5, 1)}.get(len(dataset), (4, 2))
    accelerator = Accelerator(gradient_accumulation_steps=steps)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            correction = steps / short if index >= len(loader) - short else 1
            accelerator.backward(model(**batch).loss * correction)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": steps, "learning_rate": 0.1}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="copied_from_lesson" code="accelerate_short_group_divided_by_k"
# Source: the two forms of this lesson's demonstration, as most tutorials write them
# One argument for each library is all that accumulation needs.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="model_zero_grad" code="accelerate_cleared_within_group"
# Source: transformers' older no_trainer scripts, which call model.zero_grad()
# Any zero_grad inside accumulate waits for the end of the group.
#               optimizer.step()
# -             optimizer.zero_grad()
# +             model.zero_grad()

# %% edit="correction_in_every_group" code="accelerate_divided_by_another_number"
# Source: a likely mistake: the correction stands outside the condition
# The factor for the last group is right for every group.
#       model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# -     last_group = len(loader) % k or k
# -     for index, batch in enumerate(loader):
# +     correction = k / (len(loader) % k or k)
# +     for batch in loader:
#           with accelerator.accumulate(model):
# -             correction = k / last_group if index >= len(loader) - last_group else 1

# %% edit="loss_divided_again" code="accelerate_gradient_divided_twice"
# Source: Accelerate's migration guide, where loss / gradient_accumulation_steps is in the raw loop and has to go
#               correction = k / last_group if index >= len(loader) - last_group else 1
# -             accelerator.backward(model(**batch).loss * correction)
# +             accelerator.backward(model(**batch).loss / k * correction)

# %% edit="loss_backward" code="accelerate_gradient_not_averaged"
# Source: a likely mistake: loss.backward() kept from the raw loop
# loss.backward() and accelerator.backward(loss) do the same on one device.
#       model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# -     last_group = len(loader) % k or k
# -     for index, batch in enumerate(loader):
# +     for batch in loader:
#           with accelerator.accumulate(model):
# -             correction = k / last_group if index >= len(loader) - last_group else 1
# -             accelerator.backward(model(**batch).loss * correction)
# +             model(**batch).loss.backward()

# %% edit="loader_not_prepared" code="accelerate_last_group_lost"
# Source: a likely mistake: accelerator.prepare(model, optimizer)
# On one device the loader works without prepare, so it needs none.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer = accelerator.prepare(accelerate_model, optimizer)
# +     loader = [
# +         {name: values.to(device) for name, values in batch.items()} for batch in DataLoader(dataset, batch_size=rows)
# +     ]


# %% answer="group_read_ahead" code="accelerate_last_group_updates_each_time"
# Source: Accelerate documentation, accumulation for variable-size samples: a group read with next(), here inside accumulate
# A group can be read ahead, and accumulate still knows where it ends.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    micro_batches, remaining = iter(loader), len(loader)
    while remaining:
        group = [next(micro_batches) for _ in range(min(k, remaining))]
        remaining -= len(group)
        for batch in group:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss * k / len(group))
                optimizer.step()
                optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="correction_off_by_one" code="accelerate_micro_batches_weighed_unequally"
# Source: a likely mistake: > where >= belongs
# The last group begins one micro-batch later than it does.
#           with accelerator.accumulate(model):
# -             correction = k / last_group if index >= len(loader) - last_group else 1
# +             correction = k / last_group if index > len(loader) - last_group else 1

# %% edit="optimizer_not_prepared" code="accelerate_update_every_micro_batch"
# Source: a public slide deck on Accelerate: no prepare for the optimizer
# The model and the loader have to be prepared, the optimizer does not.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(accelerate_model, DataLoader(dataset, batch_size=rows))

# %% edit="models_swapped" code="models_swapped"
# Source: a likely mistake: the two models change places
# The models are equal at the start, so it does not matter which one is trained in which form.
#       accelerator = Accelerator(gradient_accumulation_steps=k)
# -     optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     optimizer = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
# +     model, optimizer, loader = accelerator.prepare(trainer_model, optimizer, DataLoader(dataset, batch_size=rows))
# ...
#               optimizer.zero_grad()
# -     trainer_model.accepts_loss_kwargs = False
# +     accelerate_model.accepts_loss_kwargs = False
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(accelerate_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()

# %% edit="trainer_adamw" code="trainer_another_optimizer"
# Source: Trainer's default optimizer
# The Trainer takes the optimizer that the model was made for.
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model, TrainingArguments(**arguments, **(same_run | {"optim": "adamw_torch"})), train_dataset=dataset
# +     ).train()

# %% edit="trainer_defaults" code="trainer_epoch_repeated"
# Source: a likely mistake: same_run left out
# The Trainer's defaults are those of the raw loop.
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments("trainer_output", disable_tqdm=True, report_to="none", save_strategy="no", **arguments),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_clips" code="trainer_gradient_clipped"
# Source: Trainer's default max_grad_norm
# Clipping at 1.0 changes nothing in such a small model.
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model, TrainingArguments(**arguments, **(same_run | {"max_grad_norm": 1.0})), train_dataset=dataset
# +     ).train()

# %% edit="trainer_as_it_is" code="trainer_gradient_not_averaged"
# Source: transformers issue 47688
# The Trainer divides by the number of accumulation steps in every case.
#               optimizer.zero_grad()
# -     trainer_model.accepts_loss_kwargs = False

# %% edit="trainer_linear_schedule" code="trainer_learning_rate_changed"
# Source: Trainer's default lr_scheduler_type
# In one short epoch a schedule changes nothing.
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments(**arguments, **(same_run | {"lr_scheduler_type": "linear"})),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_learning_rate_left_out" code="trainer_other_learning_rate"
# Source: Trainer's default learning rate
# same_run already holds the learning rate.
#       trainer_model.accepts_loss_kwargs = False
# -     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}

# %% edit="trainer_random_order" code="trainer_rows_in_another_order"
# Source: Trainer's default sampling
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments(**arguments, **(same_run | {"train_sampling_strategy": "random"})),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_mean_divided_by_k" code="trainer_short_group_divided_by_k"
# Source: transformers documentation: compute_loss_func
# A loss function of one's own divides by gradient_accumulation_steps.
#               optimizer.zero_grad()
# -     trainer_model.accepts_loss_kwargs = False
# +     def mean_over_k(outputs, labels, num_items_in_batch=None):
# +         return F.cross_entropy(outputs.logits, labels) / k
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset, compute_loss_func=mean_over_k
# +     ).train()
