# %% edit="accelerator_autocast"
# Source: accelerator.autocast around the forward
# The forward runs in an autocast region of the accelerator's own, too.
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         with accelerator.autocast():
# +             loss = model(**batch).loss
# +         accelerator.backward(loss)

# %% answer="own_optimizer_for_the_trainer"
# Source: the Trainer's argument optimizers
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    arguments = TrainingArguments(per_device_train_batch_size=rows, bf16=True, **same_run)
    sgd = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
    Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=(sgd, None)).train()
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()


# %% edit="state_reset_by_hand"
# Source: AcceleratorState forgotten by hand
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     AcceleratorState._reset_state(reset_partial_state=True)
# +     accelerator = Accelerator(mixed_precision="bf16", cpu=device.type == "cpu")
#       optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)


# %% answer="trainer_first"
# Source: another order of the two forms
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
