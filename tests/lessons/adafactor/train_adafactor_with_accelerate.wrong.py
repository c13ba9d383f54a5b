# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of the lesson
def train_adafactor_with_accelerate(model, dataset, rows: int, lr: float, library: str) -> None:
    if library == "torch":
        optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
    else:
        optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    train_raw(model, optimizer, dataset, rows)


# %% answer="the_other_form" code="trainer_in_its_place"
# Source: the Trainer in place of a loop
def train_adafactor_with_accelerate(model, dataset, rows: int, lr: float, library: str) -> None:
    own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
    optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
    Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset, optimizers=(optimizer, None)).train()


# %% edit="hard_coded" code="other_learning_rate" seed=20011
# Source: the rates of the visible cases
# -     if library == "torch":
# +     lr = 1e-3 if rows == 4 else 3e-3
# +     if library == "torch":
#           optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)

# %% edit="copied_from_lesson" code="torch_adafactor"
# Source: the published code: from torch.optim import Adafactor
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)

# %% edit="one_library" code="transformers_adafactor"
# Source: one Adafactor for both
# -         optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
#       else:

# %% edit="adamw" code="adamw_left_in"
# Source: lesson 06
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)

# %% edit="defaults" code="defaults_left_on"
# Source: Adafactor of transformers as it is
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = Adafactor(model.parameters())

# %% edit="relative_step" code="relative_step_on"
# Source: lr left out
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = Adafactor(model.parameters(), scale_parameter=False)

# %% edit="scale" code="scale_parameter_on"
# Source: only relative_step is turned off
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False)

# %% edit="momentum" code="momentum_set"
# Source: beta1 as in AdamW
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False, beta1=0.9)

# %% edit="momentum_of_zero" code="momentum_kept"
# Source: beta1=0.0: equal weights, and a first moment is kept
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False, beta1=0.0)

# %% edit="fixed_rate" code="other_learning_rate"
# Source: the learning rate of the lesson
# -         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
# +         optimizer = Adafactor(model.parameters(), lr=2e-4, relative_step=False, scale_parameter=False)

# %% edit="never_cleared" code="gradient_not_cleared"
# Source: zero_grad left out
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a loss that is not divided by the micro-batches of an accumulation
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(4 * model(**batch).loss)

# %% edit="last_rows_dropped" code="last_rows_left_out"
# Source: PyTorch, DataLoader: drop_last
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, drop_last=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="loss_backward" code="accelerator_backward_not_used"
# Source: the raw loop
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="optimizer_not_prepared" code="optimizer_not_prepared"
# Source: only model and loader are prepared
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=rows))

# %% edit="unprepared_optimizer_stepped" code="prepared_optimizer_not_used"
# Source: prepare is called, and what it returns is dropped
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, _, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))

# %% edit="copy_trained" code="another_model"
# Source: a copy is trained
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     import copy
# +
# +     model, optimizer, loader = accelerator.prepare(
# +         copy.deepcopy(model), optimizer, DataLoader(dataset, batch_size=rows)
# +     )

# %% edit="forward_called" code="forward_called"
# Source: model.forward, as other languages call a method
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model.forward(**batch).loss)
