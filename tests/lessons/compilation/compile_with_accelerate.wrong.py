# Wrong answers to compile_with_accelerate.
# Not here: hard_coded, because what a model ends with cannot be written down.

# %% answer="plain_baseline" code="plugin_not_used"
# Source: a loop with Accelerate, not compiled
def compile_with_accelerate(model, dataset, rows, learning_rate, backend):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="copied_from_lesson" code="accelerator_backward_not_used"
# Source: train_raw
def compile_with_accelerate(model, dataset, rows, learning_rate, backend):
    model.config.problem_type = "single_label_classification"
    train_raw(model, dataset, rows, learning_rate, backend)


# %% answer="library_shortcut" code="trainer_used"
# Source: the other form
def compile_with_accelerate(model, dataset, rows, learning_rate, backend):
    run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**run, torch_compile_backend=backend), train_dataset=dataset).train()


# %% edit="problem_type_forgotten" code="recompiled"
# Source: the plugin alone
# -     model.config.problem_type = "single_label_classification"

# %% edit="default_backend" code="another_backend"
# Source: torch.compile's default, by name
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     accelerator = Accelerator(dynamo_backend="inductor")

# %% edit="model_not_prepared" code="model_not_prepared"
# Source: only the optimizer and the loader are prepared
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     optimizer, loader = accelerator.prepare(optimizer, DataLoader(dataset, batch_size=rows))

# %% edit="compiled_by_hand" code="plugin_not_used"
# Source: torch.compile in front of prepare
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     accelerator, model = Accelerator(), torch.compile(model, backend=backend)

# %% edit="row_by_row" code="other_rows"
# Source: the default batch size of a DataLoader
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset))

# %% edit="adam" code="another_optimizer"
# Source: the usual optimizer
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="gradients_kept" code="gradients_never_cleared"
# Source: zero_grad forgotten
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="never_stepped" code="updates_left_out"
# Source: step forgotten
# -         optimizer.step()

# %% edit="momentum" code="momentum_added"
# Source: SGD as many recipes have it
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)

# %% edit="rate_of_the_notebook" code="learning_rate_hard_coded" seed=20011
# Source: the rate of the lesson's own run
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %% edit="two_epochs" code="epoch_repeated"
# Source: one epoch to warm up
# -     for batch in loader:
# +     for batch in [*loader, *loader]:

# %% edit="plugin_without_backend" code="plugin_not_used"
# Source: Inductor taken for the plugin's default
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin())

# %% edit="regional" code="blocks_compiled"
# Source: the table of the forms
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend, use_regional_compilation=True))

# %% edit="environment" code="backend_from_the_environment"
# Source: Accelerate's documentation of its environment variables
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     import os
# +
# +     os.environ["ACCELERATE_DYNAMO_BACKEND"] = backend.upper()
# +     accelerator = Accelerator()

# %% edit="shuffled" code="rows_in_another_order"
# Source: the usual loader
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="accumulated" code="updates_left_out"
# Source: the loop of lesson 02
# -     for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# -         optimizer.step()
# -         optimizer.zero_grad()
# +     for batch in loader:
# +         accelerator.backward(model(**batch).loss / len(loader))
# +     optimizer.step()

# %% edit="several_labels" code="problem_type_of_other_labels"
# Source: another value of problem_type
# -     model.config.problem_type = "single_label_classification"
# +     model.config.problem_type = "multi_label_classification"

# %% edit="plain_backward" code="accelerator_backward_not_used"
# Source: the raw loop's backward
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()

# %% edit="update_compiled" code="graph_broken"
# Source: the loop is compiled in addition to the model
# -     for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +     @torch.compile(backend=backend)
# +     def run_backward(batch):
# +         accelerator.backward(model(**batch).loss)
# +
# +     for batch in loader:
# +         run_backward(batch)

# %% edit="first_update_uncompiled" code="some_updates_not_compiled"
# Source: the first forward writes problem_type, so it runs before the graph is made
# -     model.config.problem_type = "single_label_classification"
# ...
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +     compiled, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     for batch in loader:
# +         accelerator.backward((compiled if model.config.problem_type else model)(**batch).loss)
