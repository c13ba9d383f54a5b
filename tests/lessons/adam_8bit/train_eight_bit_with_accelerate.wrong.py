# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw loop of the lesson
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    keep_embeddings_in_32_bits(model)
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = bitsandbytes.optim.AdamW8bit(groups, lr=lr)
    for batch in DataLoader(dataset, batch_size=rows):
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="the_other_form" code="trainer_in_its_place"
# Source: the Trainer in place of a loop
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
    arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
    Trainer(model, arguments, train_dataset=dataset).train()


# %% edit="hard_coded" code="other_learning_rate" seed=20011
# Source: the rates of the visible cases
#       rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
# -     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
# +     lr = 1e-3 if rows == 4 else 2e-3
# +     groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]

# %% edit="copied_from_lesson" code="decay_default"
# Source: AdamW8bit of all parameters, as in the listing of the lesson
# -     for module in model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
#       decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
# ...
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=lr), Accelerator()

# %% edit="adamw_of_torch" code="nothing_quantized"
# Source: lesson 06: equal groups, state in 32 bits
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()

# %% edit="embeddings_quantized" code="embeddings_quantized"
# Source: AdamW8bit without an override
# -     for module in model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
#       decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]

# %% edit="override_too_late" code="embeddings_quantized"
# Source: the override after the first steps
# -     for module in model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
#       decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
# ...
#           optimizer.zero_grad()
# +     keep_embeddings_in_32_bits(model)

# %% edit="first_override_only" code="one_embedding_quantized"
# Source: a loop that ends at its first hit
#               manager.register_module_override(module, "weight", {"optim_bits": 32})
# +             break

# %% edit="matrices_overridden" code="other_modules_overridden"
# Source: Linear for Embedding
# -         if isinstance(module, torch.nn.Embedding):
# +         if isinstance(module, torch.nn.Linear):

# %% edit="small_quantized" code="other_tensors_quantized"
# Source: min_8bit_size=0
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr, min_8bit_size=0), Accelerator()

# %% edit="decay_everywhere" code="decay_everywhere"
# Source: one decay for all
# -     optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
# +     optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=lr, weight_decay=weight_decay)
# +     accelerator = Accelerator()

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
