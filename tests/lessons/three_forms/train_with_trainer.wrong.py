# Wrong answers to train_with_trainer.
# Not here: library_shortcut, because the library is what is asked for.

# %% answer="plain_baseline" code="trainer_not_used"
# Source: the raw loop of this lesson
def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for batch in DataLoader(dataset, batch_size=rows):
            batch = {name: values.to(model.device) for name, values in batch.items()}
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()


# %% edit="hard_coded" code="trainer_other_batch_size" seed=20011
# Source: the rows of the visible case, written down
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"per_device_train_batch_size": {12: 3, 17: 5}.get(len(dataset), 5), "num_train_epochs": epochs}
# +     run |= {"learning_rate": learning_rate}


# %% answer="copied_from_lesson" code="trainer_other_forwards"
# Source: this lesson's run_trainer with the arguments that make it a raw loop; it trains on the lesson's pairs
def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    as_the_loop = {"optim": "sgd", "learning_rate": learning_rate, "weight_decay": 0.0, "lr_scheduler_type": "constant"}
    as_the_loop |= {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential"}
    run_trainer(model, rows, num_train_epochs=epochs, **as_the_loop)


# %% edit="not_started" code="trainer_not_used"
# Source: .train() is lost
#       run |= {"train_sampling_strategy": "sequential"}
# -     Trainer(model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**run, **quiet), train_dataset=dataset)


# %% edit="copy_trained" code="trainer_model_untouched"
# Source: a copy made to keep the argument as it was
#       run |= {"train_sampling_strategy": "sequential"}
# -     Trainer(model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
# +     import copy
# +     Trainer(copy.deepcopy(model), TrainingArguments(**run, **quiet), train_dataset=dataset).train()


# %% edit="accumulates" code="trainer_accumulates"
# Source: transformers documentation, performance guide: the arguments of its examples
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run |= {"gradient_accumulation_steps": 4}


# %% edit="default_optimizer" code="trainer_another_optimizer"
# Source: Trainer's default optim
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"lr_scheduler_type": "constant", "max_grad_norm": 0.0}


# %% edit="default_epochs" code="trainer_epoch_repeated"
# Source: Trainer's default num_train_epochs
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}


# %% edit="default_clipping" code="trainer_gradient_clipped"
# Source: Trainer's default max_grad_norm
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"optim": "sgd", "lr_scheduler_type": "constant"}


# %% edit="default_schedule" code="trainer_learning_rate_changed"
# Source: Trainer's default lr_scheduler_type
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# -     run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# +     run |= {"optim": "sgd", "max_grad_norm": 0.0}


# %% edit="default_batch_size" code="trainer_other_batch_size"
# Source: Trainer's default per_device_train_batch_size
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"learning_rate": learning_rate, "num_train_epochs": epochs}


# %% edit="default_learning_rate" code="trainer_other_learning_rate"
# Source: Trainer's default learning_rate
# -     run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run = {"per_device_train_batch_size": rows, "num_train_epochs": epochs}


# %% edit="default_order" code="trainer_rows_in_another_order"
# Source: Trainer's default sampling
#       run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
# -     run |= {"train_sampling_strategy": "sequential"}


# %% edit="label_smoothing" code="trainer_labels_smoothed"
# Source: a recipe with label_smoothing_factor
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run |= {"label_smoothing_factor": 0.1}


# %% edit="half_precision" code="trainer_gradient_rounded"
# Source: transformers documentation, performance guide: bf16=True
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run |= {"bf16": True, "use_cpu": model.device.type == "cpu"}


# %% edit="decays" code="trainer_weight_decay"
# Source: recipes with weight_decay=0.01
#       run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
# +     run |= {"weight_decay": 0.01}
