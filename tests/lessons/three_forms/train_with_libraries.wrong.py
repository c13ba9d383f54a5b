# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of this lesson
# The loop that both forms are compared with trains both models.
def train_in_torch(model, dataset, rows, learning_rate, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for batch in DataLoader(dataset, batch_size=rows):
            batch = {name: values.to(model.device) for name, values in batch.items()}
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    train_in_torch(accelerate_model, dataset, rows, learning_rate, epochs)
    train_in_torch(trainer_model, dataset, rows, learning_rate, epochs)


# %% answer="hard_coded" code="accelerate_other_batch_size" seed=20011
# Source: the numbers of the visible case, written down
# The two runs that were seen once are the only ones there are.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    rows = {12: 3, 17: 5}.get(len(dataset), 5)
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
    run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
    run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    run |= {"train_sampling_strategy": "sequential"}
    Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()


# %% edit="copied_from_lesson" code="trainer_other_forwards"
# Source: this lesson's run_trainer with the arguments that make it a raw loop
# The function of the demonstration trains on whatever it is called for.
#               optimizer.step()
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# -     run |= {"train_sampling_strategy": "sequential"}
# -     Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
# +     as_the_loop = {"optim": "sgd", "learning_rate": learning_rate, "weight_decay": 0.0, "lr_scheduler_type": "constant"}
# +     as_the_loop |= {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential"}
# +     run_trainer(trainer_model, rows, num_train_epochs=epochs, **as_the_loop)


# %% answer="one_epoch" code="accelerate_epochs_missing"
# Source: the loop over epochs is lost
# A prepared loader knows how many epochs there are.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
    run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    run |= {"train_sampling_strategy": "sequential"}
    Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()


# %% edit="never_cleared" code="accelerate_gradient_not_cleared"
# Source: zero_grad() is lost
# A prepared optimizer clears the gradients by itself.
#           for batch in loader:
# -             optimizer.zero_grad()


# %% edit="last_batch_dropped" code="accelerate_last_batch_dropped"
# Source: scripts that drop the last batch, so that all have one size
# Every batch must have the same number of rows.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, rows, drop_last=True)
# +     )


# %% edit="shuffled" code="accelerate_rows_in_another_order"
# Source: the loader of most tutorials, with shuffle=True
# Training rows are always shuffled.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, rows, shuffle=True))


# %% edit="accumulates" code="accelerator_accumulates"
# Source: Accelerate documentation, the first example on gradient accumulation
# Accumulation steps do no harm in a loop without accumulate.
# -     accelerator = Accelerator()
# +     accelerator = Accelerator(gradient_accumulation_steps=2)
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)


# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: loss.backward() kept from the raw loop
# loss.backward() and accelerator.backward(loss) are the same call.
#               optimizer.zero_grad()
# -             accelerator.backward(model(**batch).loss)
# +             model(**batch).loss.backward()


# %% edit="loader_not_prepared" code="loader_not_prepared"
# Source: batches moved by hand, as in the raw loop
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer = accelerator.prepare(accelerate_model, optimizer)
# +     loader = DataLoader(dataset, batch_size=rows)
#       for _ in range(epochs):
#           for batch in loader:
# +             batch = {name: values.to(accelerator.device) for name, values in batch.items()}


# %% edit="model_not_prepared" code="model_not_prepared"
# Source: the model is on the device already
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model = accelerate_model.to(accelerator.device)
# +     optimizer, loader = accelerator.prepare(optimizer, DataLoader(dataset, batch_size=rows))


# %% edit="models_swapped" code="models_swapped"
# Source: the two models change places
# The models are equal at the start, so it does not matter which one is trained in which form.
#       accelerator = Accelerator()
# -     optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     optimizer = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
# +     model, optimizer, loader = accelerator.prepare(trainer_model, optimizer, DataLoader(dataset, batch_size=rows))
# ...
#       run |= {"train_sampling_strategy": "sequential"}
# -     Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
# +     Trainer(accelerate_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()


# %% edit="one_model_for_both" code="one_model_for_both"
# Source: a line copied with its model
# The Trainer goes on with the model that the loop has trained.
#       run |= {"train_sampling_strategy": "sequential"}
# -     Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
# +     Trainer(accelerate_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()


# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: a public slide deck on Accelerate: no prepare for the optimizer
# The model and the loader have to be prepared, the optimizer does not.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(accelerate_model, DataLoader(dataset, batch_size=rows))


# %% edit="prepared_not_used" code="prepared_optimizer_not_used"
# Source: prepare is called as if it changed its arguments
# prepare changes the objects that it is given.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerate_model, DataLoader(dataset, batch_size=rows)
# +     accelerator.prepare(model, optimizer, loader)
#       for _ in range(epochs):
#           for batch in loader:
# +             batch = {name: values.to(accelerator.device) for name, values in batch.items()}


# %% edit="trainer_accumulates" code="trainer_accumulates"
# Source: transformers documentation, performance guide: the arguments of its examples
# Accumulation steps save memory and change nothing.
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"optim": "sgd", "gradient_accumulation_steps": 4, "lr_scheduler_type": "constant", "max_grad_norm": 0.0}


# %% edit="trainer_optimizer" code="trainer_another_optimizer"
# Source: Trainer's default optim
# The Trainer takes the optimizer that the model was made for.
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"lr_scheduler_type": "constant", "max_grad_norm": 0.0}


# %% edit="trainer_epochs" code="trainer_epoch_repeated"
# Source: Trainer's default num_train_epochs
# The Trainer sees every row three times by default.
#               optimizer.step()
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}


# %% edit="trainer_clips" code="trainer_gradient_clipped"
# Source: Trainer's default max_grad_norm
# The Trainer clips by default.
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"optim": "sgd", "lr_scheduler_type": "constant"}


# %% edit="trainer_schedule" code="trainer_learning_rate_changed"
# Source: Trainer's default lr_scheduler_type
# The learning rate that is given stays.
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"optim": "sgd", "max_grad_norm": 0.0}


# %% edit="trainer_not_started" code="trainer_not_used"
# Source: .train() is lost
#       run |= {"train_sampling_strategy": "sequential"}
# -     Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
# +     Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset)


# %% edit="trainer_batch_size" code="trainer_other_batch_size"
# Source: Trainer's default per_device_train_batch_size
#               optimizer.step()
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"learning_rate": learning_rate, "num_train_epochs": epochs}


# %% edit="trainer_learning_rate" code="trainer_other_learning_rate"
# Source: Trainer's default learning_rate
#               optimizer.step()
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"per_device_train_batch_size": rows, "num_train_epochs": epochs}


# %% edit="trainer_random_order" code="trainer_rows_in_another_order"
# Source: Trainer's default sampling
# The Trainer reads the rows in their order.
#       run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# -     run |= {"train_sampling_strategy": "sequential"}
