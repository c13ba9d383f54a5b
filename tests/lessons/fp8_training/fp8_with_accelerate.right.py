# Right answers to fp8_with_accelerate.

# %% answer="first_by_identity"
def fp8_with_accelerate(model, dataset, rows, learning_rate):
    first = next(module for module in model.modules() if isinstance(module, nn.Linear))
    inside = set(model.bert.encoder.modules())
    recipe = AORecipeKwargs(
        config=Float8LinearConfig(emulate=not has_fp8),
        module_filter_func=lambda module, name: module in inside and module is not first,
    )
    accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
    model = accelerator.prepare(model)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=learning_rate))
    for batch in accelerator.prepare(DataLoader(dataset, batch_size=rows)):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="own_start"
def fp8_with_accelerate(model, dataset, rows, learning_rate):
    first = "bert.encoder.layer.0.attention.self.query"
    recipe = AORecipeKwargs(
        Float8LinearConfig(emulate=not has_fp8),
        lambda module, name: name.startswith("bert.encoder.") and name != first,
    )
    accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
    parts = (
        DataLoader(dataset, batch_size=rows, shuffle=False),
        model,
        torch.optim.SGD(model.parameters(), learning_rate),
    )
    loader, model, optimizer = accelerator.prepare(*parts)
    for batch in loader:
        output = model(**batch)
        accelerator.backward(output.loss)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


# %% answer="recipe_by_name"
def fp8_with_accelerate(model, dataset, rows, learning_rate):
    kept = {"bert.encoder.layer.0.attention.self.query", "bert.pooler.dense", "classifier"}
    config = Float8LinearConfig.from_recipe_name("tensorwise")
    object.__setattr__(config, "emulate", not has_fp8)
    handler = AORecipeKwargs(config=config, module_filter_func=lambda module, name: name not in kept)
    accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[handler])
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
