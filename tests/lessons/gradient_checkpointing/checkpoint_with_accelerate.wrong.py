# %% answer="plain_baseline" code="accelerate_not_checkpointed"
# Source: the loop of lesson 00: the weights agree, and no memory is saved
def checkpoint_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    model.train()
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% edit="hard_coded" code="accelerate_whole_group_in_one_forward" seed=20011
# Source: the rows of the first visible setting
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=4))

# %% edit="copied_from_lesson" code="accelerate_in_eval_mode"
# Source: published slides: gradient_checkpointing_enable() on a model from from_pretrained
#       enable_checkpointing(model)
# -     model.train()

# %% edit="attribute_set" code="accelerate_in_eval_mode"
# Source: a likely slip: the attribute of the outermost module only
#       enable_checkpointing(model)
# -     model.train()
# +     model.training = True


# %% answer="raw_loop" code="model_not_prepared"
# Source: the reference of the lesson
def checkpoint_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, learning_rate)


# %% answer="other_form" code="accelerate_loop_not_used"
# Source: the Trainer does it in one call
def checkpoint_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="layers_of_the_small_model" code="accelerate_tensors_kept"
# Source: an answer that fits the model of two layers only
#       enable_checkpointing(model)
# +     for layer in model.bert.encoder.layer[2:]:
# +         layer.gradient_checkpointing = False
#       model.train()

# %% edit="adamw" code="accelerate_another_optimizer"
# Source: the optimizer of most guides
#       accelerator = Accelerator()
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="drop_last" code="accelerate_last_rows_left_out"
# Source: a habit from training with compiled models
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     full = DataLoader(dataset, batch_size=rows, drop_last=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, full)

# %% edit="shuffled" code="accelerate_other_gradient"
# Source: a habit: shuffle=True
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     shuffled = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, shuffled)

# %% edit="batch_size_forgotten" code="accelerate_row_by_row"
# Source: a likely slip: the DataLoader without batch_size
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset))

# %% edit="every_second_layer" code="accelerate_some_layers_not_checkpointed"
# Source: the newest versions of the library, which take every_n_layers
#       enable_checkpointing(model)
# +     for layer in model.bert.encoder.layer[1::2]:
# +         layer.gradient_checkpointing = False
#       model.train()

# %% edit="one_checkpoint" code="accelerate_whole_model_in_one_checkpoint"
# Source: a likely slip: one checkpoint around forward and loss
# -     enable_checkpointing(model)
#       model.train()
# ...
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(checkpoint(lambda batch=batch: model(**batch).loss, use_reentrant=False))

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: a raw loop, half rewritten
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: a likely slip: the optimizer is left out of prepare
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=rows))

# %% edit="prepared_dropped" code="prepared_objects_dropped"
# Source: a likely slip: prepare is called for its effect
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     accelerator.prepare(model, optimizer, loader)
#       for batch in loader:
# +         batch = {name: values.to(accelerator.device) for name, values in batch.items()}

# %% edit="rate_fixed" code="accelerate_other_learning_rate"
# Source: a likely slip: the learning rate of the notebook's run
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %% edit="weight_decay" code="accelerate_weight_decay"
# Source: a likely slip: the weight decay of another recipe
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, weight_decay=0.1)

# %% edit="step_forgotten" code="prepared_objects_dropped"
# Source: a likely slip: backward and zero_grad(), and no step()
# -         optimizer.step()
