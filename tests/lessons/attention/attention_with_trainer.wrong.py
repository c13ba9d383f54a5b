# Wrong answers to attention_with_trainer.

# %% edit="plain_baseline" code="trainer_eager"
# Source: the Trainer of lesson 00: the weights agree, and no memory is saved
# -     model.set_attn_implementation("sdpa")
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="hard_coded" code="trainer_whole_group_in_one_forward" seed=20011
# Source: the rows of the first visible setting
# -     arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments = same_run | {"per_device_train_batch_size": 4, "learning_rate": learning_rate}


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the reference of the lesson
def attention_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, learning_rate)


# %% edit="argument" code="raised_type_error"
# Source: a belief: each technique is an argument of TrainingArguments
# Because: Python's error names the argument that does not exist.
# -     model.set_attn_implementation("sdpa")
# -     arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments["attn_implementation"] = "sdpa"

# %% edit="attribute_of_the_model" code="trainer_eager"
# Source: a likely slip: an attribute that nobody reads
# -     model.set_attn_implementation("sdpa")
# +     model.attn_implementation = "sdpa"
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="better_transformer" code="raised_attribute_error"
# Source: Hugging Face guide, perf_train_gpu_one, v4.30
# Because: the method is gone from transformers, and Python's error names it.
# -     model.set_attn_implementation("sdpa")
# +     model = model.to_bettertransformer()
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="math_kernel" code="trainer_math_kernel"
# Source: the contexts of the lesson, with the kernel that runs everywhere
# -     Trainer(model, TrainingArguments(**arguments), train_dataset=dataset).train()
# +     with sdpa_kernel(SDPBackend.MATH):
# +         Trainer(model, TrainingArguments(**arguments), train_dataset=dataset).train()

# %% edit="batches_of_one" code="gradients_accumulated"
# Source: a memory-saving habit: one row at a time
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments |= {"per_device_train_batch_size": 1, "gradient_accumulation_steps": rows}

# %% edit="steps_rounded_down" code="trainer_micro_batches_not_seen_once"
# Source: the number of steps, by an integer division
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments["max_steps"] = len(dataset) // rows

# %% edit="defaults" code="trainer_whole_group_in_one_forward"
# Source: the Trainer's default
# -     arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments = same_run | {"learning_rate": learning_rate}

# %% edit="default_rate" code="trainer_other_learning_rate"
# Source: the Trainer's default
# -     arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments = same_run | {"per_device_train_batch_size": rows}

# %% edit="epochs" code="trainer_epoch_repeated"
# Source: the Trainer's default
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments["num_train_epochs"] = 3

# %% edit="random_order" code="trainer_other_gradient"
# Source: the Trainer's default
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments["train_sampling_strategy"] = "random"

# %% edit="clips" code="trainer_gradient_clipped"
# Source: the Trainer's default
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments["max_grad_norm"] = 1.0

# %% edit="not_started" code="trainer_not_used"
# Source: a likely slip: Trainer(...) without train()
# -     Trainer(model, TrainingArguments(**arguments), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**arguments), train_dataset=dataset)

# %% edit="adamw" code="trainer_another_optimizer"
# Source: the Trainer's default
#       arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     arguments["optim"] = "adamw_torch"
