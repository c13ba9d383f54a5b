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


# %% edit="hard_coded" code="other_layers_left" seed=20011
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

# %% edit="bf16" code="bf16_asked_for"
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

# %% edit="default_rate" code="other_learning_rate"
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
