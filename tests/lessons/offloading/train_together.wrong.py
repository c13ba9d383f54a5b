# Wrong answers to train_together.
# Not here: library_shortcut, because libraries are allowed.
# Not here: hard_coded, because the answer is a training run: no value can be remembered.

# %% answer="plain_baseline" code="whole_state"
# Source: lesson 15, data parallel by hand
def train_together(model, batches, budget_bytes):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, eps=0.1)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()


# %% answer="copied_from_lesson" code="ranks_never_meet"
# Source: the cell that measures one rank alone
def train_together(model, batches, budget_bytes):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, eps=0.1)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()


# %% edit="state_everywhere" code="whole_state"
# Source: checkpointing taken for the whole remedy
# -     optimizer = torch.optim.AdamW([p for owner, p in owners if owner == rank], lr=0.05, eps=0.1)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, eps=0.1)
# ...
# -             dist.reduce(parameter.grad, owner)
# +             dist.all_reduce(parameter.grad)


# %% edit="activations_forgotten" code="activations_kept"
# Source: sharding taken for the whole remedy
# -         for block in model:
# -             hidden = checkpoint(block, hidden, use_reentrant=False)
# +         hidden = model(hidden)


# %% edit="one_segment" code="activations_kept"
# Source: lesson 3, the whole net as one segment
# -         for block in model:
# -             hidden = checkpoint(block, hidden, use_reentrant=False)
# +         hidden = checkpoint(model, hidden, use_reentrant=False)


# %% answer="flat_vectors" code="whole_copies"
# Source: lesson 18, make_sharded_step pasted in
def train_together(model, batches, budget_bytes):
    from torch.utils.checkpoint import checkpoint

    rank, world_size = dist.get_rank(), dist.get_world_size()
    parameters = list(model.parameters())
    sizes = [parameter.numel() for parameter in parameters]
    share = -(-sum(sizes) // world_size)
    padding = share * world_size - sum(sizes)

    def flatten(tensors):
        return F.pad(torch.cat([tensor.detach().flatten() for tensor in tensors]), (0, padding))

    own = flatten(parameters).chunk(world_size)[rank].clone()
    optimizer = torch.optim.AdamW([own], lr=0.05, eps=0.1)
    for hidden, targets in batches:
        for block in model:
            hidden = checkpoint(block, hidden, use_reentrant=False)
        F.mse_loss(hidden, targets).backward()
        own.grad = torch.empty_like(own)
        dist.reduce_scatter_tensor(own.grad, flatten([parameter.grad for parameter in parameters]))
        own.grad /= world_size
        optimizer.step()
        gathered = torch.empty(share * world_size)
        dist.all_gather_into_tensor(gathered, own)
        for parameter, part in zip(parameters, gathered[: sum(sizes)].split(sizes)):
            parameter.detach().copy_(part.view_as(parameter))
        model.zero_grad()


# %% edit="shared_by_tensors" code="uneven_shares"
# Source: every fourth tensor, and each fourth one is a matrix
# -     owners = [(index % world_size, p) for index, block in enumerate(model) for p in block.parameters()]
# +     owners = [(index % world_size, p) for index, p in enumerate(model.parameters())]


# %% edit="not_sent_back" code="ranks_differ"
# Source: the second half of the all-reduce forgotten
# -         for owner, parameter in owners:
# -             dist.broadcast(parameter.data, owner)


# %% edit="sum_for_mean" code="gradients_summed"
# Source: reduce taken for an average
# -             parameter.grad /= world_size


# %% edit="gradients_of_both_batches" code="gradients_kept"
# Source: zero_grad forgotten
# -             dist.reduce(parameter.grad, owner)
# +             dist.all_reduce(parameter.grad)
# ...
# -         model.zero_grad()


# %% edit="optimizer_in_the_loop" code="moments_begin_again"
# Source: an optimizer made where it is used
# -         optimizer.step()
# +         torch.optim.AdamW([p for owner, p in owners if owner == rank], lr=0.05, eps=0.1).step()


# %% edit="default_epsilon" code="epsilon_left_out"
# Source: the contract's arguments overlooked
# -     optimizer = torch.optim.AdamW([p for owner, p in owners if owner == rank], lr=0.05, eps=0.1)
# +     optimizer = torch.optim.AdamW([p for owner, p in owners if owner == rank], lr=0.05)


# %% edit="lesson_arguments" code="other_arguments"
# Source: adamw_update of the lesson
# -     optimizer = torch.optim.AdamW([p for owner, p in owners if owner == rank], lr=0.05, eps=0.1)
# +     mine = [p for owner, p in owners if owner == rank]
# +     optimizer = torch.optim.AdamW(mine, lr=0.01, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1)


# %% edit="all_from_rank_0" code="some_never_updated"
# Source: broadcast as DDP does it at the start
# -             dist.broadcast(parameter.data, owner)
# +             dist.broadcast(parameter.data, 0)


# %% edit="own_gradients" code="gradients_not_combined"
# Source: ZeRO taken for an optimizer alone
# -             dist.reduce(parameter.grad, owner)
# -             parameter.grad /= world_size
# +             pass


# %% edit="bf16_gradients" code="rounded_to_fewer_bits"
# Source: lesson 15, a compressed reduction
# -             dist.reduce(parameter.grad, owner)
# +             parameter.grad = parameter.grad.bfloat16().float()
# +             dist.reduce(parameter.grad, owner)


# %% edit="last_batch_left_out" code="fewer_updates"
# Source: off by one
# -     for hidden, targets in batches:
# +     for hidden, targets in batches[:-1]:


# %% edit="summed_loss" code="other_mean"
# Source: reduction="sum" with a division by ranks only
# -         F.mse_loss(hidden, targets).backward()
# +         F.mse_loss(hidden, targets, reduction="sum").backward()


# %% answer="local_steps" code="weights_averaged"
# Source: federated averaging
def train_together(model, batches, budget_bytes):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, eps=0.1)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        for parameter in model.parameters():
            dist.all_reduce(parameter.data)
            parameter.data /= dist.get_world_size()
