# Wrong answers to schedule_with_accelerate.
# Not here: hard_coded, because what a model ends with cannot be written down.
# Not here: copied_from_lesson, because it is the plain baseline.

# %% answer="plain_baseline" code="accumulate_not_used"
# Source: train_raw
def schedule_with_accelerate(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    batches = list(DataLoader(dataset, batch_size=rows))
    updates = len(batches) // k
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
    for start in range(0, len(batches), k):
        for batch in batches[start : start + k]:
            (model(**{name: values.to(device) for name, values in batch.items()}).loss / k).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


# %% answer="library_shortcut" code="trainer_used"
# Source: the other form
def schedule_with_accelerate(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    run = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}
    run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
    Trainer(model, TrainingArguments(**run | {"max_grad_norm": max_norm}), train_dataset=dataset).train()


# %% edit="scheduler_not_prepared" code="schedule_stepped_each_micro_batch"
# Source: forgotten in prepare
# -     model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="length_of_the_loader" code="length_in_micro_batches"
# Source: num_training_steps=len(loader) * epochs, as guides without accumulation write it
# -     updates = len(loader) // k
# +     updates = len(loader)

# %% edit="warm_up_floored" code="warm_up_rounded_down"
# Source: int(0.25 * updates)
# -     scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
# +     scheduler = get_scheduler("cosine", optimizer, int(warm_up * updates), updates)

# %% edit="linear" code="falls_linearly"
# Source: the Trainer's default
# -     scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
# +     scheduler = get_scheduler("linear", optimizer, math.ceil(warm_up * updates), updates)

# %% edit="clip_always" code="clipped_each_micro_batch"
# Source: clip after every backward
# -             if accelerator.sync_gradients:
# -                 accelerator.clip_grad_norm_(model.parameters(), max_norm)
# +             accelerator.clip_grad_norm_(model.parameters(), max_norm)

# %% edit="clip_forgotten" code="not_clipped"
# Source: the lines left out
# -             if accelerator.sync_gradients:
# -                 accelerator.clip_grad_norm_(model.parameters(), max_norm)

# %% edit="schedule_first" code="schedule_before_the_update"
# Source: PyTorch before 1.1
# -             optimizer.step()
# -             scheduler.step()
# +             scheduler.step()
# +             optimizer.step()

# %% edit="divided_twice" code="gradient_divided_twice"
# Source: the raw loop's division kept
# -             accelerator.backward(model(**batch).loss)
# +             accelerator.backward(model(**batch).loss / k)

# %% edit="torch_backward" code="gradient_not_averaged"
# Source: loss.backward()
# -             accelerator.backward(model(**batch).loss)
# +             model(**batch).loss.backward()

# %% edit="steps_not_given" code="other_accumulation_steps"
# Source: Accelerator()
# -     accelerator = Accelerator(gradient_accumulation_steps=k)
# +     accelerator = Accelerator()

# %% edit="cleared_first" code="only_the_last_micro_batch"
# Source: zero_grad at the top of the loop's body, as in a loop without accumulation
# -             accelerator.backward(model(**batch).loss)
# +             optimizer.zero_grad()
# +             accelerator.backward(model(**batch).loss)
# ...
# -             optimizer.zero_grad()

# %% edit="optimizer_forgotten" code="optimizer_not_prepared"
# Source: forgotten in prepare
# -     model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
# +     model, loader, scheduler = accelerator.prepare(model, loader, scheduler)

# %% edit="rows_forgotten" code="other_rows"
# Source: DataLoader(dataset)
# -     loader = DataLoader(dataset, batch_size=rows)
# +     loader = DataLoader(dataset)

# %% edit="warm_up_one_longer" code="warm_up_always_one_longer"
# Source: int(x) + 1 for rounding up
# -     scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
# +     scheduler = get_scheduler("cosine", optimizer, int(warm_up * updates) + 1, updates)

# %% edit="share_for_a_count" code="warm_up_of_one_update"
# Source: the Trainer's argument, handed to get_scheduler
# -     scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
# +     scheduler = get_scheduler("cosine", optimizer, warm_up, updates)

# %% edit="momentum" code="another_optimizer"
# Source: SGD as image models are trained with
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)

# %% edit="constant_after_the_warm_up" code="constant_rate"
# Source: get_scheduler("constant_with_warmup")
# -     scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
# +     scheduler = get_scheduler("constant_with_warmup", optimizer, math.ceil(warm_up * updates), updates)

# %% edit="shuffled" code="other_gradients"
# Source: shuffle=True, as for any training
# -     loader = DataLoader(dataset, batch_size=rows)
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True, generator=torch.Generator().manual_seed(0))

# %% edit="restarts" code="other_rates"
# Source: another schedule whose name begins with cosine
# -     scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
# +     cycles = {"num_cycles": 2}
# +     warm = math.ceil(warm_up * updates)
# +     scheduler = get_scheduler("cosine_with_restarts", optimizer, warm, updates, scheduler_specific_kwargs=cycles)
