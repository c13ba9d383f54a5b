# Wrong answers to compile_with_trainer.
# Not here: hard_coded, because what a model ends with cannot be written down.

# %% answer="plain_baseline" code="flag_not_set"
# Source: the Trainer, not compiled
def compile_with_trainer(model, dataset, rows, learning_rate, backend):
    run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**run), train_dataset=dataset).train()


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: train_raw
def compile_with_trainer(model, dataset, rows, learning_rate, backend):
    model.config.problem_type = "single_label_classification"
    train_raw(model, dataset, rows, learning_rate, backend)


# %% edit="library_shortcut" code="flag_not_set"
# Source: torch.compile handed to the Trainer's model
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     model.compile(backend=backend)

# %% edit="problem_type_forgotten" code="recompiled"
# Source: the flag alone
# -     model.config.problem_type = "single_label_classification"

# %% edit="default_backend" code="another_backend"
# Source: torch_compile=True alone
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True}

# %% edit="default_rows" code="other_rows"
# Source: the Trainer's default of 8
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"learning_rate": learning_rate}

# %% edit="default_rate" code="weights_hardly_move"
# Source: the Trainer's default of 5e-5
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": rows}

# %% edit="default_optimizer" code="another_optimizer"
# Source: the Trainer's default optimizer
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True, "torch_compile_backend": backend, "optim": "adamw_torch"}

# %% edit="default_epochs" code="epoch_repeated"
# Source: the Trainer's default of three epochs
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True, "torch_compile_backend": backend, "num_train_epochs": 3}

# %% edit="clipped" code="gradient_clipped"
# Source: the Trainer's default of 1.0
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True, "torch_compile_backend": backend, "max_grad_norm": 1.0}

# %% edit="decaying" code="learning_rate_decays"
# Source: the Trainer's default schedule
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True, "torch_compile_backend": backend, "lr_scheduler_type": "linear"}

# %% edit="without_same_run" code="rows_in_another_order"
# Source: the Trainer's defaults
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = {"num_train_epochs": 1, "optim": "sgd", "report_to": "none", "use_cpu": device.type == "cpu"}
# +     run |= {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="accumulated" code="updates_left_out"
# Source: the arguments of lesson 02
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True, "torch_compile_backend": backend, "gradient_accumulation_steps": 3}

# %% edit="compiled_before" code="compiled_model_in_the_trainer"
# Source: torch.compile in front of the Trainer
# -     Trainer(model, TrainingArguments(**run), train_dataset=dataset).train()
# +     Trainer(torch.compile(model, backend=backend), TrainingArguments(**run), train_dataset=dataset).train()
