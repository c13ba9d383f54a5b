# Wrong answers to train_sharded_with_accelerate.
# Not here: library_shortcut, because the task is to use the library.

# %% answer="plain_baseline" code="accelerator_not_used"
# Source: the raw form
def train_sharded_with_accelerate(model, dataset, batch: int, reshard: bool, learning_rate: float) -> None:
    train_raw(model, dataset, batch, reshard, learning_rate)


# %% edit="hard_coded" code="accelerate_other_rows" seed=20011
# Source: the rows of the visible case
# -     loader = DataLoader(dataset, batch_size=batch // accelerator.num_processes)
# +     loader = DataLoader(dataset, batch_size={2: 5, 3: 4}[accelerator.num_processes])


# %% answer="copied_from_lesson" code="trainer_in_its_place"
# Source: the Trainer's form
def train_sharded_with_accelerate(model, dataset, batch: int, reshard: bool, learning_rate: float) -> None:
    own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()


# %% edit="no_plugin" code="accelerate_not_sharded"
# Source: lesson 15's loop: right weights, and nothing sharded
# -     accelerator = Accelerator(cpu=True, fsdp_plugin=plugin)
# +     accelerator = Accelerator(cpu=True)

# %% edit="size_policy" code="accelerate_blocks_not_wrapped"
# Source: a policy without the class of the blocks
# -         auto_wrap_policy="transformer_based_wrap",
# -         transformer_cls_names_to_wrap=["BertLayer"],
# +         auto_wrap_policy="no_wrap",

# %% edit="reshard_left_out" code="accelerate_reshard_not_set"
# Source: the plugin's default
# -         reshard_after_forward=reshard,

# %% edit="reshard_inverted" code="accelerate_reshard_not_set"
# Source: reshard read as keep
# -         reshard_after_forward=reshard,
# +         reshard_after_forward=not reshard,

# %% edit="batch_for_each" code="accelerate_batch_not_divided"
# Source: the batch given to each rank
# -     loader = DataLoader(dataset, batch_size=batch // accelerator.num_processes)
# +     loader = DataLoader(dataset, batch_size=batch)

# %% edit="loss_divided" code="accelerate_gradient_divided"
# Source: the mean over the ranks by hand
# -         accelerator.backward(model(**rows).loss)
# +         accelerator.backward(model(**rows).loss / accelerator.num_processes)

# %% edit="backward_of_torch" code="accelerator_not_used"
# Source: backward of the raw loop
# -         accelerator.backward(model(**rows).loss)
# +         model(**rows).loss.backward()

# %% edit="sgd" code="accelerate_another_optimizer"
# Source: lesson 15's optimizer
# -     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

# %% edit="default_rate" code="accelerate_another_learning_rate"
# Source: a rate of one's own
# -     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)

# %% edit="no_rate" code="accelerate_another_learning_rate"
# Source: AdamW without a learning rate
# -     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters())

# %% edit="never_cleared" code="accelerate_gradients_kept"
# Source: zero_grad forgotten
# -         optimizer.step()
# -         optimizer.zero_grad()
# +         optimizer.step()

# %% edit="loader_not_prepared" code="accelerate_other_updates"
# Source: every rank trains on all batches
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     model, optimizer = accelerator.prepare(model, optimizer)

# %% edit="attention" code="accelerate_blocks_not_wrapped"
# Source: units smaller than a block
# -         transformer_cls_names_to_wrap=["BertLayer"],
# +         transformer_cls_names_to_wrap=["BertAttention"],

# %% edit="first_version" code="fsdp_version_1"
# Source: FSDP1
# -         fsdp_version=2,
# +         fsdp_version=1,

# %% edit="bf16" code="accelerate_mixed_precision"
# Source: a habit from GPUs
# -     accelerator = Accelerator(cpu=True, fsdp_plugin=plugin)
# +     accelerator = Accelerator(cpu=True, mixed_precision="bf16", fsdp_plugin=plugin)
