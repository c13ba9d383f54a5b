# Wrong answers to train_sharded_with_trainer.
# Not here: library_shortcut, because the task is to use the library.

# %% answer="plain_baseline" code="trainer_not_used"
# Source: the raw form
def train_sharded_with_trainer(model, dataset, batch: int, reshard: bool, learning_rate: float) -> None:
    train_raw(model, dataset, batch, reshard, learning_rate)


# %% edit="hard_coded" code="trainer_other_rows" seed=20011
# Source: the rows of the visible case
# -     own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
# +     own = {"per_device_train_batch_size": {2: 5, 3: 4}[dist.get_world_size()], "learning_rate": learning_rate}


# %% answer="copied_from_lesson" code="trainer_not_sharded"
# Source: lesson 15's Trainer
def train_sharded_with_trainer(model, dataset, batch: int, reshard: bool, learning_rate: float) -> None:
    model.accepts_loss_kwargs = False
    own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()


# %% edit="config_alone" code="trainer_not_sharded"
# Source: fsdp_config taken for the switch
# -     arguments = TrainingArguments(**same_run, **own, fsdp=True, fsdp_config=units)
# +     arguments = TrainingArguments(**same_run, **own, fsdp_config=units)

# %% edit="reshard_left_out" code="trainer_reshard_not_set"
# Source: the default
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"transformer_layer_cls_to_wrap": ["BertLayer"]}

# %% edit="reshard_inverted" code="trainer_reshard_not_set"
# Source: reshard read as keep
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": not reshard}

# %% edit="another_policy" code="trainer_blocks_not_wrapped"
# Source: a policy by size
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"auto_wrap_policy": "NO_WRAP", "reshard_after_forward": reshard}

# %% edit="batch_for_each" code="trainer_batch_not_divided"
# Source: per_device taken for all devices
# -     own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
# +     own = {"per_device_train_batch_size": batch, "learning_rate": learning_rate}

# %% edit="sgd" code="trainer_another_optimizer"
# Source: the plain arguments of earlier lessons
# -     arguments = TrainingArguments(**same_run, **own, fsdp=True, fsdp_config=units)
# +     arguments = TrainingArguments(**(same_run | {"optim": "sgd"}), **own, fsdp=True, fsdp_config=units)

# %% edit="default_rate" code="trainer_another_learning_rate"
# Source: the Trainer's default
# -     own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
# +     own = {"per_device_train_batch_size": batch // dist.get_world_size()}

# %% edit="takes_kwargs" code="trainer_gradient_summed"
# Source: the Trainer as its guide writes it
# -     model.accepts_loss_kwargs = False

# %% edit="no_class" code="other_classes_wrapped"
# Source: fsdp=True taken for enough
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"reshard_after_forward": reshard}

# %% edit="key_of_accelerate" code="other_classes_wrapped"
# Source: Accelerate's key
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"transformer_cls_names_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}

# %% edit="first_version" code="fsdp_version_1"
# Source: FSDP1
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard, "fsdp_version": 1}

# %% edit="accumulation" code="trainer_other_updates"
# Source: an update of all ranks taken for accumulation
# -     own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
# +     own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
# +     own["gradient_accumulation_steps"] = dist.get_world_size()

# %% edit="bf16" code="trainer_mixed_precision"
# Source: a habit from GPUs
# -     arguments = TrainingArguments(**same_run, **own, fsdp=True, fsdp_config=units)
# +     arguments = TrainingArguments(**same_run, **own, bf16=True, fsdp=True, fsdp_config=units)
