# Wrong answers to train_batches_with_trainer.
# Not here: library_shortcut, because the task is to use the library.

# %% answer="plain_baseline" code="trainer_not_used"
# Source: the raw form
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    train_raw(model, dataset, batches, collate, learning_rate)


# %% edit="hard_coded" code="rows_lost" seed=20011
# Source: two ranks, as in the notebook
# -             ranks = self.args.world_size
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +             ranks = self.args.world_size
# +             shares = [batch[rank :: ranks + (ranks > 2)] for batch in batches for rank in range(ranks)]


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the Accelerate form
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    accelerator = Accelerator(cpu=True)
    ranks = accelerator.num_processes
    shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
    loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for rows in loader:
        accelerator.backward(model(**rows).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="ordered_rows" code="rows_repeated"
# Source: rows put into the order of the batches, and per_device_train_batch_size
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    rows = len(batches[0]) // dist.get_world_size()
    arguments = TrainingArguments(**same_run, learning_rate=learning_rate, per_device_train_batch_size=rows)
    ordered = dataset.select([row for batch in batches for row in batch])
    Trainer(model, arguments, train_dataset=ordered, data_collator=collate).train()


# %% answer="grouped_by_length" code="rows_repeated"
# Source: train_sampling_strategy="group_by_length"
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    own = {"learning_rate": learning_rate, "train_sampling_strategy": "group_by_length"}
    arguments = TrainingArguments(**(same_run | own))
    Trainer(model, arguments, train_dataset=dataset, data_collator=collate).train()


# %% edit="whole_batches" code="whole_batch_for_each_rank"
# Source: batch_sampler=batches, prepared
# -             loader = DataLoader(self.train_dataset, batch_sampler=shares, collate_fn=self.data_collator)
# +             loader = DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator)

# %% edit="not_prepared" code="same_rows_on_every_rank"
# Source: a loader that is returned as it is
# -             loader = DataLoader(self.train_dataset, batch_sampler=shares, collate_fn=self.data_collator)
# -             return self.accelerator.prepare(loader)
# +             return DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator)

# %% edit="own_shares_prepared" code="dealt_out_twice"
# Source: the raw form's slice and prepare
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +             shares = [batch[self.args.process_index :: ranks] for batch in batches]

# %% edit="split_batches" code="batches_of_other_sizes_lost"
# Source: accelerator_config with split_batches
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +             shares = type("Sized", (list,), {"batch_size": len(batches[0]), "drop_last": True})(batches)
# ...
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     config = {"split_batches": True}
# +     arguments = TrainingArguments(**same_run, learning_rate=learning_rate, accelerator_config=config)

# %% edit="shares_in_order_of_ranks" code="other_batches"
# Source: the two loops exchanged
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +             shares = [batch[rank::ranks] for rank in range(ranks) for batch in batches]

# %% edit="reversed" code="batches_in_another_order"
# Source: an order of one's own
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +             shares = [batch[rank::ranks] for batch in batches[::-1] for rank in range(ranks)]

# %% edit="one_width" code="padded_to_one_width"
# Source: padding="max_length"
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     collate = DataCollatorWithPadding(collate.tokenizer, padding="max_length", max_length=32)

# %% edit="default_rate" code="other_learning_rate"
# Source: the default of learning_rate
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     arguments = TrainingArguments(**same_run)

# %% edit="adamw" code="another_optimizer"
# Source: the Trainer's default optimizer
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     arguments = TrainingArguments(**(same_run | {"optim": "adamw_torch"}), learning_rate=learning_rate)

# %% edit="clipped" code="gradient_clipped"
# Source: the Trainer's default max_grad_norm
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     arguments = TrainingArguments(**(same_run | {"max_grad_norm": 1.0}), learning_rate=learning_rate)

# %% edit="three_epochs" code="several_epochs"
# Source: the Trainer's default num_train_epochs
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     arguments = TrainingArguments(**(same_run | {"num_train_epochs": 3}), learning_rate=learning_rate)

# %% edit="mask_dropped" code="padding_attended"
# Source: a collator without the mask
# -     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
# +     padded = collate
# +     collate = lambda rows: {name: value for name, value in padded(rows).items() if name != "attention_mask"}
# +     arguments = TrainingArguments(**same_run, learning_rate=learning_rate)

# %% edit="only_built" code="trainer_not_used"
# Source: a Trainer that is not started
# -     BatchTrainer(model, arguments, train_dataset=dataset, data_collator=collate).train()
# +     BatchTrainer(model, arguments, train_dataset=dataset, data_collator=collate)

# %% edit="contiguous" code="shared_in_another_way"
# Source: torch.chunk, for instance
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +             sizes = [len(batch) // ranks for batch in batches]
# +             pairs = list(zip(batches, sizes, strict=True))
# +             shares = [batch[at * size : (at + 1) * size] for batch, size in pairs for at in range(ranks)]

# %% edit="collated_first" code="padded_before_it_is_shared"
# Source: one collate for all ranks, then the slice
# -             shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# -             loader = DataLoader(self.train_dataset, batch_sampler=shares, collate_fn=self.data_collator)
# -             return self.accelerator.prepare(loader)
# +             rank = self.args.process_index
# +             own = lambda rows: {name: value[rank::ranks] for name, value in collate(rows).items()}
# +             return DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=own)

# %% edit="loop_as_well" code="forwards_outside_trainer"
# Source: the raw form left in the cell
# -     BatchTrainer(model, arguments, train_dataset=dataset, data_collator=collate).train()
# +     train_raw(model, dataset, batches, collate, learning_rate)
# +     BatchTrainer(model, arguments, train_dataset=dataset, data_collator=collate).train()
