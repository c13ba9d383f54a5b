# Wrong answers to fp8_with_accelerate.
# Not here: library_shortcut, because the library is what is asked for.

# %% answer="plain_baseline" code="accelerate_not_used"
# Source: an ordinary loop
def fp8_with_accelerate(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()


# %% answer="copied_from_lesson" code="converted_by_hand"
# Source: convert_to_float8_training, as where saved bytes are printed
def fp8_with_accelerate(model, dataset, rows, learning_rate):
    def is_converted(module, name):
        return "encoder" in name and "layer.0.attention.self.query" not in name

    config = Float8LinearConfig(emulate=not has_fp8)
    model = convert_to_float8_training(model, config=config, module_filter_fn=is_converted)
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()


# %% edit="hard_coded" code="other_layers" seed=20011
# Source: the one block of the first case
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         return "encoder.layer.0" in name and "query" not in name

# %% edit="query_of_each_block" code="first_of_each_block_left"
# Source: the short name of the first layer
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         return "encoder" in name and "query" not in name

# %% edit="whole_encoder" code="first_layer_converted"
# Source: the first layer left to Accelerate
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         return "encoder" in name

# %% edit="everything" code="everything_converted"
# Source: a filter that always agrees
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         return True

# %% edit="opposite" code="filter_reversed"
# Source: a filter taken for what is filtered out
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         return not ("encoder" in name and "layer.0.attention.self.query" not in name)

# %% edit="default_filter" code="left_to_the_default_filter"
# Source: no filter given
# -     recipe = AORecipeKwargs(config=Float8LinearConfig(emulate=not has_fp8), module_filter_func=is_converted)
# +     recipe = AORecipeKwargs(config=Float8LinearConfig(emulate=not has_fp8))

# %% edit="bf16" code="fp8_not_asked_for"
# Source: lesson 05's form
# -     accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
# +     accelerator = new_accelerator(mixed_precision="bf16")

# %% edit="no_precision" code="fp8_not_asked_for"
# Source: the default
# -     accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
# +     accelerator = new_accelerator()

# %% edit="adamw" code="another_optimizer"
# Source: the usual optimizer
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="default_rate" code="another_optimizer"
# Source: the rate forgotten
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters())

# %% edit="never_cleared" code="gradients_never_cleared"
# Source: zero_grad forgotten
# -         optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model(**batch).loss)

# %% edit="last_dropped" code="last_batch_left_out"
# Source: drop_last
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, drop_last=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="optimizer_left_out" code="not_prepared"
# Source: only the model prepared
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=rows))

# %% edit="momentum" code="another_optimizer"
# Source: the usual momentum
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)

# %% edit="shuffled" code="rows_in_another_order"
# Source: an ordinary training loader
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="batches_of_8" code="other_batches"
# Source: the number of rows of the printed run
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=8))

# %% edit="one_update" code="other_updates"
# Source: a step behind the loop
# -         optimizer.step()
# +     optimizer.step()

# %% edit="copy" code="other_model_trained"
# Source: copy.deepcopy, as where saved bytes are printed
# -     accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
# +     accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
# +     model = copy.deepcopy(model)

# %% edit="converted_twice" code="converted_by_hand"
# Source: convert_to_float8_training before prepare
# -     accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
# +     accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
# +     convert_to_float8_training(model, config=recipe.config, module_filter_fn=is_converted)

# %% edit="two_blocks" code="other_layers"
# Source: the two blocks of the printed run
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         known = "layer.0." in name or "layer.1." in name
# +         return "encoder" in name and known and "layer.0.attention.self.query" not in name

# %% edit="name_without_prefix" code="nothing_converted"
# Source: names as the encoder has them, without those of the modules around it
# -         return "encoder" in name and "layer.0.attention.self.query" not in name
# +         return name.startswith("encoder") and "layer.0.attention.self.query" not in name

# %% edit="never_emulated" code="not_emulated"
# Source: the default of Float8LinearConfig
# -     recipe = AORecipeKwargs(config=Float8LinearConfig(emulate=not has_fp8), module_filter_func=is_converted)
# +     recipe = AORecipeKwargs(config=Float8LinearConfig(), module_filter_func=is_converted)
