# %% edit="plain_baseline" code="accelerate_not_checkpointed"
# Source: both forms of lesson 00
# Nothing is checkpointed.
#       model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# -     enable_checkpointing(accelerate_model)
# ...
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="hard_coded" code="accelerate_whole_group_in_one_forward" seed=20011
# Source: the first visible setting
# The rows of an update are written down.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=4))
# ...
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": 4, "learning_rate": learning_rate, trainer_argument: True}

# %% edit="copied_from_lesson" code="accelerate_in_eval_mode"
# Source: published slides: gradient_checkpointing_enable() on a model from from_pretrained
# The Accelerate model stays in eval mode, where checkpointing does nothing.
#       enable_checkpointing(accelerate_model)
# -     model.train()

# %% edit="accelerate_adamw" code="accelerate_another_optimizer"
# Source: the optimizer of most guides
# The loop uses AdamW.
#       accelerator = Accelerator()
# -     optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(accelerate_model.parameters(), lr=learning_rate)

# %% edit="accelerate_gradient_doubled" code="accelerate_gradient_scaled"
# Source: a likely slip: the loss is doubled because each layer runs twice
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model(**batch).loss * 2)

# %% edit="drop_last" code="accelerate_last_rows_left_out"
# Source: a habit from training with compiled models: drop_last=True
# The last rows, too few for a full update, are left out.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, drop_last=True)
# +     )

# %% edit="accelerate_shuffled" code="accelerate_other_gradient"
# Source: a habit: shuffle=True
# The loop sees the rows in another order.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=True)
# +     )

# %% edit="accelerate_learning_rate" code="accelerate_other_learning_rate"
# Source: AdamW's usual rate, copied
#       accelerator = Accelerator()
# -     optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=5e-5)

# %% edit="batch_size_forgotten" code="accelerate_row_by_row"
# Source: a likely slip: the DataLoader without batch_size
# Each update has one row.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, shuffle=False))

# %% edit="every_second_layer" code="accelerate_some_layers_not_checkpointed"
# Source: the newest versions of the library, which take every_n_layers
# Every second layer is checkpointed, the others keep everything.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=False)
# +     )
#       enable_checkpointing(accelerate_model)
# +     for layer in accelerate_model.bert.encoder.layer[1::2]:
# +         layer.gradient_checkpointing = False

# %% edit="one_checkpoint" code="accelerate_whole_model_in_one_checkpoint"
# Source: a likely slip: one checkpoint around forward and loss
# The whole model is one checkpoint.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# -     enable_checkpointing(accelerate_model)
# +     model, optimizer, loader = accelerator.prepare(
# +         accelerate_model, optimizer, DataLoader(dataset, batch_size=rows, shuffle=False)
# +     )
#       model.train()
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(checkpoint(lambda batch=batch: model(**batch).loss, use_reentrant=False))

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: a raw loop, half rewritten
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="model_not_prepared" code="model_not_prepared"
# Source: a likely slip: the model is left out of prepare
# Only optimizer and loader are prepared.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model = accelerate_model
# +     optimizer, loader = accelerator.prepare(optimizer, DataLoader(dataset, batch_size=rows))

# %% answer="models_swapped" code="models_swapped"
# Source: a likely slip: the first model goes to the Trainer
# Each form trains the other's model.
def train_checkpointed(accelerate_model, trainer_model, dataset, rows, learning_rate):
    accelerate_model, trainer_model = trainer_model, accelerate_model
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    enable_checkpointing(accelerate_model)
    model.train()
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: a likely slip: the optimizer is left out of prepare
# Only model and loader are prepared.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(accelerate_model, DataLoader(dataset, batch_size=rows))

# %% edit="prepared_dropped" code="prepared_objects_dropped"
# Source: a likely slip: prepare is called for its effect
# What prepare returns is not used.
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerate_model, DataLoader(dataset, batch_size=rows)
# +     accelerator.prepare(model, optimizer, loader)
# ...
#       for batch in loader:
# +         batch = {name: values.to(accelerator.device) for name, values in batch.items()}

# %% edit="trainer_accumulates" code="trainer_accumulates"
# Source: a line left from lesson 02
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {
# +         "per_device_train_batch_size": rows,
# +         "learning_rate": learning_rate,
# +         "gradient_accumulation_steps": 2,
# +         trainer_argument: True,
# +     }

# %% edit="trainer_epochs" code="trainer_epoch_repeated"
# Source: the Trainer's default
# Three epochs in place of one.
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model, TrainingArguments(**arguments, **same_run | {"num_train_epochs": 3}), train_dataset=dataset
# +     ).train()

# %% edit="trainer_argument_forgotten" code="trainer_not_checkpointed"
# Source: a likely slip: enabled in one form only
# The Trainer is not told to checkpoint.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="trainer_not_started" code="trainer_not_used"
# Source: a likely slip: Trainer(...) without train()
# The Trainer is made, and not run.
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)

# %% edit="trainer_random_order" code="trainer_other_gradient"
# Source: the Trainer's default
# The rows are drawn at random.
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# -     Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(
# +         trainer_model,
# +         TrainingArguments(**arguments, **same_run | {"train_sampling_strategy": "random"}),
# +         train_dataset=dataset,
# +     ).train()

# %% edit="trainer_default_rate" code="trainer_other_learning_rate"
# Source: the Trainer's default
# The learning rate is not handed over.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"per_device_train_batch_size": rows, trainer_argument: True}

# %% edit="trainer_max_steps" code="trainer_stops_early"
# Source: a line for a short trial that stayed
# The Trainer stops after two updates.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {
# +         "per_device_train_batch_size": rows,
# +         "learning_rate": learning_rate,
# +         "max_steps": 2,
# +         trainer_argument: True,
# +     }

# %% edit="trainer_default_batch" code="trainer_whole_group_in_one_forward"
# Source: the Trainer's default
# Rows of an update are not handed over.
#           optimizer.zero_grad()
# -     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
# +     arguments = {"learning_rate": learning_rate, trainer_argument: True}
