# Wrong answers to schedule_with_trainer.
# Not here: hard_coded, because what a model ends with cannot be written down.
# Not here: copied_from_lesson, because it is the plain baseline.
# Not here: library_shortcut, because the Trainer is the library.

# %% answer="plain_baseline" code="trainer_not_used"
# Source: train_raw
def schedule_with_trainer(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    train_raw(model, dataset, rows, k, learning_rate, warm_up, max_norm)


# %% edit="same_run_only" code="constant_rate"
# Source: same_run keeps lr_scheduler_type constant
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     run |= {"learning_rate": learning_rate, "warmup_steps": warm_up}

# %% edit="linear" code="falls_linearly"
# Source: the Trainer's default
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "linear", "warmup_steps": warm_up}

# %% edit="no_warm_up" code="no_warm_up"
# Source: the argument left out
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine"}

# %% edit="count_of_one" code="warm_up_of_one_update"
# Source: a ratio rounded to a count, transformers PR 3940
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": 1.0}

# %% edit="count_of_micro_batches" code="warm_up_in_micro_batches"
# Source: the warm-up counted in micro-batches
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     count = math.ceil(warm_up * len(dataset) / rows)
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": count}

# %% edit="clip_off" code="not_clipped"
# Source: same_run switches clipping off
# -     run |= {"max_grad_norm": max_norm}

# %% edit="clip_default" code="another_max_norm"
# Source: the Trainer's default
# -     run |= {"max_grad_norm": max_norm}
# +     run |= {"max_grad_norm": 1.0}

# %% edit="rate_forgotten" code="other_peak"
# Source: the Trainer's default of 5e-5
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     run |= {"lr_scheduler_type": "cosine", "warmup_steps": warm_up}

# %% edit="optimizer_default" code="another_optimizer"
# Source: the Trainer's default
# -     run |= {"max_grad_norm": max_norm}
# +     run |= {"max_grad_norm": max_norm, "optim": "adamw_torch"}

# %% edit="batch_in_one_piece" code="other_accumulation_steps"
# Source: no accumulation, since the batch would fit
# -     run = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}
# +     run = same_run | {"per_device_train_batch_size": rows * k}

# %% edit="rows_forgotten" code="other_rows"
# Source: the Trainer's default of 8
# -     run = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}
# +     run = same_run | {"gradient_accumulation_steps": k}

# %% edit="micro_batches_as_max_steps" code="epoch_repeated"
# Source: max_steps = len(loader)
# -     run |= {"max_grad_norm": max_norm}
# +     run |= {"max_grad_norm": max_norm, "max_steps": len(dataset) // rows}

# %% edit="warm_up_one_longer" code="warm_up_always_one_longer"
# Source: int(x) + 1 for rounding up
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     count = int(warm_up * (len(dataset) // (rows * k))) + 1
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": count}

# %% edit="floor_of_a_tenth" code="other_rates"
# Source: cosine_with_min_lr
# -     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
# +     run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine_with_min_lr", "warmup_steps": warm_up}
# +     run |= {"lr_scheduler_kwargs": {"min_lr_rate": 0.1}}

# %% edit="shuffled" code="other_gradients"
# Source: the Trainer's default order
# -     run |= {"max_grad_norm": max_norm}
# +     run |= {"max_grad_norm": max_norm, "train_sampling_strategy": "random"}
