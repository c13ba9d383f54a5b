# Wrong answers to train_with_accelerate.
# Not here: library_shortcut, because the library is what is asked for.

# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of this lesson
def train_with_accelerate(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for batch in DataLoader(dataset, batch_size=rows):
            batch = {name: values.to(model.device) for name, values in batch.items()}
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()


# %% edit="hard_coded" code="accelerate_other_batch_size" seed=20011
# Source: the rows of the visible case, written down
#       accelerator = Accelerator()
# +     rows = {12: 3, 17: 5}.get(len(dataset), 5)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)


# %% answer="copied_from_lesson" code="trainer_used_instead"
# Source: this lesson's run_trainer with the arguments that make it the loop
def train_with_accelerate(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
    run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    run |= {"train_sampling_strategy": "sequential"}
    Trainer(model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()


# %% edit="one_epoch" code="accelerate_epochs_missing"
# Source: the raw loop has one epoch
#       model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     for _ in range(epochs):
# +     for _ in range(1):


# %% edit="never_cleared" code="accelerate_gradient_not_cleared"
# Source: a prepared optimizer is thought to clear the gradients by itself
#           for batch in loader:
# -             optimizer.zero_grad()


# %% edit="last_batch_dropped" code="accelerate_last_batch_dropped"
# Source: scripts that drop the last batch, so that all have one size
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, rows, drop_last=True))


# %% edit="shuffled" code="accelerate_rows_in_another_order"
# Source: the loader of most tutorials, with shuffle=True
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, rows, shuffle=True))


# %% edit="accumulates" code="accelerator_accumulates"
# Source: Accelerate documentation, the first example on gradient accumulation
# -     accelerator = Accelerator()
# +     accelerator = Accelerator(gradient_accumulation_steps=2)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)


# %% edit="half_precision" code="accelerate_gradient_rounded"
# Source: Accelerate documentation, quick tour: mixed_precision
# -     accelerator = Accelerator()
# +     accelerator = Accelerator(mixed_precision="bf16")
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)


# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: loss.backward() kept from the raw loop
#               optimizer.zero_grad()
# -             accelerator.backward(model(**batch).loss)
# +             model(**batch).loss.backward()


# %% edit="clipped" code="accelerate_gradient_clipped"
# Source: Accelerate documentation: clip_grad_norm_ in the training loop
#               accelerator.backward(model(**batch).loss)
# +             accelerator.clip_grad_norm_(model.parameters(), 1.0)


# %% edit="loader_not_prepared" code="loader_not_prepared"
# Source: batches moved by hand, as in the raw loop
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer = accelerator.prepare(model, optimizer)
# +     loader = DataLoader(dataset, batch_size=rows)
#       for _ in range(epochs):
#           for batch in loader:
# +             batch = {name: values.to(accelerator.device) for name, values in batch.items()}


# %% edit="model_not_prepared" code="model_not_prepared"
# Source: the model is on the device already
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     optimizer, loader = accelerator.prepare(optimizer, DataLoader(dataset, batch_size=rows))


# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: a public slide deck on Accelerate: no prepare for the optimizer
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=rows))


# %% edit="prepared_not_used" code="prepared_optimizer_not_used"
# Source: prepare is called as if it changed its arguments
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     accelerator.prepare(model, optimizer, loader)
#       for _ in range(epochs):
#           for batch in loader:
# +             batch = {name: values.to(accelerator.device) for name, values in batch.items()}


# %% edit="forward_by_name" code="forward_called_directly"
# Source: model.forward, as in other frameworks
#               optimizer.zero_grad()
# -             accelerator.backward(model(**batch).loss)
# +             accelerator.backward(model.forward(**batch).loss)


# %% edit="rows_forgotten" code="accelerate_one_row_at_a_time" seed=20011
# Source: DataLoader's default batch_size
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset))


# %% edit="converted" code="accelerate_weights_converted"
# Source: model.bfloat16(), to save memory
#       accelerator = Accelerator()
# +     model.bfloat16()
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
