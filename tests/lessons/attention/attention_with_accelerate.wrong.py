# Wrong answers to attention_with_accelerate.

# %% edit="plain_baseline" code="accelerate_eager"
# Source: the loop of lesson 00: the weights agree, and no memory is saved
# -     model.set_attn_implementation("sdpa")
#       accelerator = Accelerator()

# %% edit="hard_coded" code="accelerate_whole_group_in_one_forward" seed=20011
# Source: the rows of the first visible setting
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=4))


# %% answer="copied_from_lesson" code="model_not_prepared"
# Source: the reference of the lesson
def attention_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, learning_rate)


# %% answer="other_form" code="accelerate_loop_not_used"
# Source: the Trainer does it in one call
def attention_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    model.set_attn_implementation("sdpa")
    arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**arguments), train_dataset=dataset).train()


# %% edit="kernel_context" code="accelerate_eager"
# Source: a belief: sdpa_kernel switches a model to SDPA
# -     model.set_attn_implementation("sdpa")
#       accelerator = Accelerator()
# ...
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
# +             accelerator.backward(model(**batch).loss)

# %% edit="attribute_of_the_model" code="accelerate_eager"
# Source: a likely slip: an attribute that nobody reads
# -     model.set_attn_implementation("sdpa")
# +     model.attn_implementation = "sdpa"
#       accelerator = Accelerator()

# %% edit="set_after_the_first_batch" code="accelerate_attention_set_late"
# Source: a likely slip: the call is in the loop
# -     model.set_attn_implementation("sdpa")
#       accelerator = Accelerator()
# ...
#           optimizer.step()
# +         model.set_attn_implementation("sdpa")
#           optimizer.zero_grad()

# %% edit="adamw" code="accelerate_another_optimizer"
# Source: the optimizer of most guides
#       accelerator = Accelerator()
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="shuffled" code="accelerate_other_gradient"
# Source: a habit: shuffle=True
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     shuffled = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, shuffled)

# %% edit="padding_seen" code="accelerate_other_gradient"
# Source: published slides: the model is called without its attention mask, so that SDPA needs none
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         accelerator.backward(model(input_ids=batch["input_ids"], labels=batch["labels"]).loss)

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

# %% edit="eager_for_long_rows" code="accelerate_tensors_kept"
# Source: an answer that fits the short rows only
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         if batch["input_ids"].shape[1] > 100:
# +             model.set_attn_implementation("eager")
# +         accelerator.backward(model(**batch).loss)

# %% edit="math_kernel" code="accelerate_math_kernel"
# Source: the contexts of the lesson, with the kernel that runs everywhere
#       for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# +         with sdpa_kernel(SDPBackend.MATH):
# +             accelerator.backward(model(**batch).loss)

# %% edit="another_model" code="accelerate_another_model"
# Source: from_config of the lesson, which sets the attention of a new model
# -     model.set_attn_implementation("sdpa")
# +     model = type(model)._from_config(model.config, attn_implementation="sdpa")
#       accelerator = Accelerator()

# %% edit="accumulates" code="gradients_accumulated"
# Source: the loop of lesson 02
# -     accelerator = Accelerator()
# +     accelerator = Accelerator(gradient_accumulation_steps=2)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

# %% edit="one_row" code="fewer_rows_at_once"
# Source: the loader's default
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset))

# %% edit="better_transformer" code="raised_attribute_error"
# Source: Hugging Face guide, perf_train_gpu_one, v4.30
# Because: the method is gone from transformers, and Python's error names it.
# -     model.set_attn_implementation("sdpa")
# +     model = model.to_bettertransformer()
#       accelerator = Accelerator()
