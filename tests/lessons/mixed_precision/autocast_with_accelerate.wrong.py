# %% answer="plain_baseline" code="accelerate_not_used"
# Source: the raw loop of this lesson
def autocast_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, learning_rate, torch.bfloat16)


# %% edit="hard_coded" code="accelerate_whole_group_in_one_forward" seed=20011
# Source: the rows of the visible case
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=4))

# %% edit="copied_from_lesson" code="accelerate_fp16_without_scaler"
# Source: the lesson's cell on the trap
# Accelerate is asked for fp16, and drops it.
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator(mixed_precision="fp16")


# %% answer="library_shortcut" code="accelerate_loop_not_used"
# Source: the Trainer in place of the loop
def autocast_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% edit="switched_off" code="accelerate_in_float32"
# Source: an Accelerator without arguments
# The technique is off, and the weights agree to rounding.
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator()

# %% edit="outputs_kept" code="accelerate_tensors_kept"
# Source: losses collected for a mean, with their graphs
# Every loss keeps its graph until the function returns.
# -     for batch in loader:
# +     losses = []
# +     for batch in loader:
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         losses.append(model(**batch, output_hidden_states=True))
# +         accelerator.backward(losses[-1].loss, retain_graph=True)

# %% edit="raw_region" code="accelerate_without_precision"
# Source: the raw region inside of Accelerate
# The Accelerator gets no precision, and autocast is written by hand.
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator()
# ...
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         with torch.autocast(device.type, torch.bfloat16):
# +             loss = model(**batch).loss
# +         accelerator.backward(loss)

# %% edit="converted" code="weights_converted"
# Source: model.to(torch.bfloat16), as in many inference guides
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     accelerator = new_accelerator(mixed_precision="bf16")
# +     model.to(torch.bfloat16)

# %% edit="adamw" code="accelerate_another_optimizer"
# Source: AdamW out of habit
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="not_cleared" code="accelerate_gradient_not_cleared"
# Source: zero_grad left out
#       for batch in loader:
# -         optimizer.zero_grad()

# %% edit="last_batch_dropped" code="accelerate_last_batch_dropped"
# Source: drop_last=True
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, drop_last=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="shuffled" code="accelerate_other_gradient"
# Source: a loader that shuffles
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="autocast_around_backward" code="autocast_around_backward"
# Source: accelerator.autocast around everything
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         with accelerator.autocast():
# +             accelerator.backward(model(**batch).loss)

# %% edit="loss_backward" code="loss_backward"
# Source: loss.backward() out of habit
# The accelerator does not see the backward pass, so in fp16 it could not scale.
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="loader_left_out" code="not_prepared"
# Source: prepare for model and optimizer only
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     for batch in loader:
# +     model, optimizer = accelerator.prepare(model, optimizer)
# +     for batch in DataLoader(dataset, batch_size=rows):
# +         batch = {name: values.to(device) for name, values in batch.items()}

# %% edit="result_dropped" code="prepared_not_used"
# Source: prepare taken for a call that changes its arguments
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     accelerator.prepare(model, optimizer, loader)
#       for batch in loader:
# +         batch = {name: values.to(device) for name, values in batch.items()}

# %% edit="eval_mode" code="eval_mode"
# Source: a model left in eval mode, which switches dropout off
# -     for batch in loader:
# +     model.eval()
# +     for batch in loader:

# %% edit="model_forward" code="no_forward"
# Source: model.forward in place of the model
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model.forward(**batch).loss)
