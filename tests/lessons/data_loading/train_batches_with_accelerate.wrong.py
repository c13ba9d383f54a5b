# Wrong answers to train_batches_with_accelerate.
# Not here: library_shortcut, because the task is to use the library.

# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw form
def train_batches_with_accelerate(model, dataset, batches, collate, learning_rate):
    train_raw(model, dataset, batches, collate, learning_rate)


# %% edit="hard_coded" code="rows_lost" seed=20011
# Source: two ranks, as in the notebook
# -     ranks = accelerator.num_processes
# -     shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +     ranks = accelerator.num_processes
# +     shares = [batch[rank :: ranks + (ranks > 2)] for batch in batches for rank in range(ranks)]


# %% answer="copied_from_lesson" code="trainer_in_its_place"
# Source: the Trainer form
def train_batches_with_accelerate(model, dataset, batches, collate, learning_rate):
    class BatchTrainer(Trainer):
        def get_train_dataloader(self):
            ranks = self.args.world_size
            shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
            loader = DataLoader(self.train_dataset, batch_sampler=shares, collate_fn=self.data_collator)
            return self.accelerator.prepare(loader)

    arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
    BatchTrainer(model, arguments, train_dataset=dataset, data_collator=collate).train()


# %% edit="whole_batches" code="whole_batch_for_each_rank"
# Source: batch_sampler=batches, prepared
# -     loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
# +     loader = DataLoader(dataset, batch_sampler=batches, collate_fn=collate)

# %% edit="loader_not_prepared" code="same_rows_on_every_rank"
# Source: prepare without the loader
# -     loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
# +     loader = DataLoader(dataset, batch_sampler=batches, collate_fn=collate)
# ...
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     model, optimizer = accelerator.prepare(model, optimizer)

# %% edit="own_shares_prepared" code="dealt_out_twice"
# Source: the raw form's slice and prepare
# -     shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +     shares = [batch[accelerator.process_index :: ranks] for batch in batches]

# %% edit="split_batches" code="batches_of_other_sizes_lost"
# Source: split_batches with the sampler's size
# -     accelerator = Accelerator(cpu=True)
# -     ranks = accelerator.num_processes
# -     shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# -     loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
# +     class Sized(list):
# +         batch_size, drop_last = len(batches[0]), True
# +
# +     options = DataLoaderConfiguration(split_batches=True)
# +     accelerator = Accelerator(cpu=True, dataloader_config=options)
# +     loader = DataLoader(dataset, batch_sampler=Sized(batches), collate_fn=collate)

# %% edit="shares_in_order_of_ranks" code="other_batches"
# Source: the two loops exchanged
# -     shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +     shares = [batch[rank::ranks] for rank in range(ranks) for batch in batches]

# %% edit="batch_size" code="rows_repeated"
# Source: a loader with a batch size
# -     loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
# +     loader = DataLoader(dataset, batch_size=len(shares[0]), collate_fn=collate)

# %% edit="one_width" code="padded_to_one_width"
# Source: padding="max_length"
# -     loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
# +     wide = DataCollatorWithPadding(collate.tokenizer, padding="max_length", max_length=32)
# +     loader = DataLoader(dataset, batch_sampler=shares, collate_fn=wide)

# %% edit="shuffled" code="batches_in_another_order"
# Source: shuffle=True, by hand
# -     ranks = accelerator.num_processes
# +     ranks, batches = accelerator.num_processes, batches[::-1]

# %% edit="unequal" code="unequal_shares"
# Source: the first rank takes one row more
# -     shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +     cuts = [(0, len(batch) // ranks + 1, len(batch)) for batch in batches]
# +     shares = [batch[cut[rank] : cut[rank + 1]] for batch, cut in zip(batches, cuts) for rank in range(2)]

# %% edit="mask_left_out" code="padding_attended"
# Source: model(input_ids, labels=labels)
# -         accelerator.backward(model(**rows).loss)
# +         accelerator.backward(model(input_ids=rows["input_ids"], labels=rows["labels"]).loss)

# %% edit="divided" code="divided_by_ranks"
# Source: the mean over the ranks, taken twice
# -         accelerator.backward(model(**rows).loss)
# +         accelerator.backward(model(**rows).loss / accelerator.num_processes)

# %% edit="multiplied" code="summed_over_ranks"
# Source: a loss that is divided by the global count of rows, which this one is not
# -         accelerator.backward(model(**rows).loss)
# +         accelerator.backward(model(**rows).loss * accelerator.num_processes)

# %% edit="own_model" code="model_not_prepared"
# Source: prepare for the loader alone
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     optimizer, loader = accelerator.prepare(optimizer, loader)

# %% edit="raw_backward" code="accelerator_backward_not_used"
# Source: loss.backward()
# -         accelerator.backward(model(**rows).loss)
# +         model(**rows).loss.backward()

# %% edit="never_cleared" code="gradients_never_cleared"
# Source: zero_grad forgotten
# -         optimizer.zero_grad()

# %% edit="momentum" code="updates_differ"
# Source: SGD as vision models use it
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)

# %% edit="rate_times_ranks" code="other_learning_rate"
# Source: the linear scaling rule
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate * ranks)

# %% edit="contiguous" code="shared_in_another_way"
# Source: torch.chunk, for instance
# -     shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
# +     shares = [batch[at * len(batch) // ranks : (at + 1) * len(batch) // ranks] for batch in batches for at in range(ranks)]

# %% edit="collated_first" code="padded_before_it_is_shared"
# Source: one collate for all ranks, then the slice
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# -     for rows in loader:
# +     model, optimizer = accelerator.prepare(model, optimizer)
# +     for batch in batches:
# +         whole = collate([dataset[row] for row in batch])
# +         rows = {name: value[accelerator.process_index :: ranks] for name, value in whole.items()}

# %% edit="two_epochs" code="several_epochs"
# Source: an epoch loop
# -     for rows in loader:
# +     for rows in [*loader, *loader]:

# %% edit="cleared_first" code="cleared_before_the_step"
# Source: two lines exchanged
# -         optimizer.step()
# -         optimizer.zero_grad()
# +         optimizer.zero_grad()
# +         optimizer.step()
