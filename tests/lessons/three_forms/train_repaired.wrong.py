# %% answer="plain_baseline" code="published_loop"
# Source: the published loop as it stands
# Eval mode, no mask, no token types.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for index, batch in enumerate(DataLoader(dataset, batch_size=rows)):
        inputs, targets = batch["input_ids"].to(model.device), batch["labels"].to(model.device)
        outputs = model(inputs, labels=targets)
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


# %% edit="hard_coded" code="other_batch_size" seed=20011
# Source: the number of rows of the visible case, written down
# Every update has five rows.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     loader = DataLoader(dataset, batch_size=rows)
# +     loader = DataLoader(dataset, batch_size={20: 5, 10: 4}.get(len(dataset), 5))
# ...
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)


# %% edit="copied_from_lesson" code="eval_mode"
# Source: the lesson's loop with Accelerate, whose model is in train mode from the start
# A model from from_pretrained stays in eval mode.
#       model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# -     model.train()
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)


# %% answer="library_shortcut" code="trainer_used"
# Source: the advice to use the Trainer, which calls train() and hands over every column
# The loop is not repaired but replaced.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir="trainer_output",
        per_device_train_batch_size=rows,
        learning_rate=learning_rate,
        num_train_epochs=1,
        optim="sgd",
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        train_sampling_strategy="sequential",
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    Trainer(model, arguments, train_dataset=dataset).train()


# %% answer="half_precision" code="autocast_used"
# Source: autocast added to save memory
# The gradient is computed in 16 bits.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        with torch.autocast(model.device.type, torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()


# %% answer="accumulation_kept" code="batches_accumulated"
# Source: Accelerator(gradient_accumulation_steps=2), as the published loop has it
# Two batches make one update.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    model.train()
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()


# %% edit="cleared_too_early" code="cleared_before_update"
# Source: zero_grad() moved up to the wrong line
# The gradient is gone before the update.
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)
#           accelerator.backward(outputs.loss)
# +         optimizer.zero_grad()
#           optimizer.step()
# -         optimizer.zero_grad()


# %% edit="columns_by_position" code="columns_mixed_up"
# Source: the columns handed over in the order of the data set
# The model's second parameter is the mask.
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], labels=batch["labels"])


# %% edit="accumulation_half_removed" code="divided_by_another_number"
# Source: accelerator.accumulate removed, the argument left behind
# accelerator.backward still divides by 2.
# -     accelerator = Accelerator()
# +     accelerator = Accelerator(gradient_accumulation_steps=2)
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# ...
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)


# %% edit="never_cleared" code="gradient_not_cleared"
# Source: zero_grad() lost while the lines were moved
# Gradients of earlier batches stay.
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)
#           accelerator.backward(outputs.loss)
#           optimizer.step()
# -         optimizer.zero_grad()


# %% edit="last_batch_dropped" code="last_batch_dropped"
# Source: drop_last=True to get rid of the short batch
# The last rows are not trained on.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     loader = DataLoader(dataset, batch_size=rows)
# +     loader = DataLoader(dataset, batch_size=rows, drop_last=True)
# ...
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)


# %% edit="schedule_kept" code="learning_rate_changed"
# Source: lr_scheduler.step(), as the published loop has it
# The learning rate falls during the epoch.
#       loader = DataLoader(dataset, batch_size=rows)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     lr_scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=len(loader))
# +     model, optimizer, loader, lr_scheduler = accelerator.prepare(model, optimizer, loader, lr_scheduler)
#       model.train()
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)
#           accelerator.backward(outputs.loss)
#           optimizer.step()
# +         lr_scheduler.step()


# %% edit="train_mode_only" code="only_tokens_handed_over"
# Source: the first fault found, the others not
# Mask and token types are still left out.
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(batch["input_ids"], labels=batch["labels"])


# %% edit="mask_forgotten" code="padding_attended"
# Source: two of three faults found
# Padding is still attended.
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(batch["input_ids"], token_type_ids=batch["token_type_ids"], labels=batch["labels"])


# %% edit="shuffled" code="rows_in_another_order"
# Source: shuffle=True added as good practice
# The rows are drawn at random.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     loader = DataLoader(dataset, batch_size=rows)
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True)
# ...
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(**batch)


# %% edit="token_types_forgotten" code="token_types_left_out"
# Source: the repair that most reviews of the slide suggest: mask and train mode
# Both sentences are still read as one.
#       for batch in loader:
# -         outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
# +         outputs = model(batch["input_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"])


# %% edit="training_flag_set" code="eval_mode"
# Source: the attribute that model.train() sets, set by hand: the dropout layers stay in eval mode
# -     model.train()
# +     model.training = True
#       for batch in loader:
