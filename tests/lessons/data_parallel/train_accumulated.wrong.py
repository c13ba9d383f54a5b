# %% answer="plain_baseline" code="update_every_micro_batch"
# Source: data parallel without accumulation
# Every micro-batch makes an update.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    for inputs, targets in micro_batches[rank::world_size]:
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()


# %% edit="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the numbers of micro-batches of the visible case
#       own = micro_batches[rank::world_size]
# +     k = {(2, 6): 4, (2, 2): 3, (4, 4): 2}.get((world_size, len(own)), 5)


# %% answer="copied_from_lesson" code="same_rows_on_every_rank"
# Source: run_update of the lesson, pasted in
# One group of k micro-batches, the same on every rank, and no update.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    for index in range(min(k, len(micro_batches))):
        quiet = model.no_sync if index + 1 < k else nullcontext
        inputs, targets = micro_batches[index]
        with quiet():
            loss = F.mse_loss(model(inputs), targets)
            loss.backward()


# %% edit="all_micro_batches" code="all_rows_on_every_rank"
# Source: forgetting that the list is that of all ranks
# Every rank trains on everything.
# -     own = micro_batches[rank::world_size]
# +     own = micro_batches
#       for start in range(0, len(own), k):

# %% edit="one_piece" code="rows_in_one_piece"
# Source: a split into equal pieces
# Each rank takes one piece of the list.
# -     own = micro_batches[rank::world_size]
# +     share = len(micro_batches) // world_size
# +     own = micro_batches[rank * share : (rank + 1) * share]
#       for start in range(0, len(own), k):

# %% edit="last_group_lost" code="last_group_lost"
# Source: full groups only
# The micro-batches after the last full group are dropped.
#       own = micro_batches[rank::world_size]
# -     for start in range(0, len(own), k):
# +     for start in range(0, len(own) - k + 1, k):


# %% answer="whole_group" code="whole_group_in_one_forward"
# Source: one forward of the group
# The group is put together, so nothing is accumulated.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        inputs, targets = (torch.cat(parts) for parts in zip(*own[start : start + k]))
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()


# %% edit="not_divided" code="gradient_not_averaged"
# Source: a sum in place of a mean
# The loss is not divided by the number of micro-batches.
#               with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +                 (F.mse_loss(model(inputs), targets)).backward()

# %% edit="short_group_divided_by_k" code="short_group_divided_by_k"
# Source: k as the divisor of every group
#               with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +                 (F.mse_loss(model(inputs), targets) / k).backward()

# %% edit="divided_by_ranks_too" code="divided_by_ranks_too"
# Source: DDP taken for a sum
# The loss is divided by the number of ranks, and DDP does it again.
#               with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +                 (F.mse_loss(model(inputs), targets) / len(group) / world_size).backward()

# %% edit="never_cleared" code="gradient_not_cleared"
# Source: an update without zero_grad
# Gradients of earlier groups stay.
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="k_divided_by_ranks" code="k_divided_by_ranks"
# Source: k taken for the micro-batches of all ranks
# A group has k micro-batches of all ranks together.
#       own = micro_batches[rank::world_size]
# +     k = max(1, k // world_size)

# %% edit="rank_zero_steps" code="rank_without_update"
# Source: rank 0 taken for a driver that makes the updates
# The other ranks keep their weights.
#                   (F.mse_loss(model(inputs), targets) / len(group)).backward()
# -         optimizer.step()
# +         if rank == 0:
# +             optimizer.step()

# %% edit="wrapper_bypassed" code="wrapper_bypassed"
# Source: the published script, which calls the module inside of DDP
# model.module knows nothing of other ranks.
#               with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +                 (F.mse_loss(model.module(inputs), targets) / len(group)).backward()

# %% edit="always_silent" code="always_silent"
# Source: no_sync around the whole group
# The last micro-batch is silent too.
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# +             with model.no_sync():

# %% edit="short_group_silent" code="short_group_silent"
# Source: the k-th micro-batch taken for the last of a group
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# +             with nullcontext() if index + 1 == k else model.no_sync():

# %% edit="conditions_swapped" code="last_one_silent"
# Source: the two contexts the other way round
# All micro-batches talk but the last.
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# +             with model.no_sync() if index + 1 == len(group) else nullcontext():

# %% edit="no_sync_not_used" code="no_sync_not_used"
# Source: accumulation without no_sync
# Every micro-batch is all-reduced.
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (F.mse_loss(model(inputs), targets) / len(group)).backward()

# %% edit="no_sync_not_entered" code="no_sync_never_entered"
# Source: no_sync taken for a switch
# The context is made and never entered.
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             if index + 1 < len(group):
# +                 model.no_sync()
# +             (F.mse_loss(model(inputs), targets) / len(group)).backward()

# %% edit="no_sync_around_backward" code="no_sync_around_backward_only"
# Source: no_sync where the all-reduce happens
# The forward is outside of no_sync, and prepares an all-reduce.
#           for index, (inputs, targets) in enumerate(group):
# +             loss = F.mse_loss(model(inputs), targets) / len(group)
#               with nullcontext() if index + 1 == len(group) else model.no_sync():
# -                 (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +                 loss.backward()

# %% edit="short_group_always_talks" code="short_group_always_synchronises"
# Source: no_sync for full groups only
# Each micro-batch of a short last group is all-reduced.
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# +             with nullcontext() if index + 1 == len(group) or len(group) < k else model.no_sync():

# %% edit="reduced_by_hand_too" code="reduced_twice"
# Source: an average after backward in addition to DDP's
# The gradients are all-reduced twice for each update.
#                   (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         for parameter in model.parameters():
# +             dist.all_reduce(parameter.grad)
# +             parameter.grad /= world_size

# %% edit="once_an_epoch" code="ranks_not_averaged"
# Source: the last micro-batch of all taken for the last one of the group
#           for index, (inputs, targets) in enumerate(group):
# -             with nullcontext() if index + 1 == len(group) else model.no_sync():
# +             with nullcontext() if start + index + 1 == len(own) else model.no_sync():

# %% edit="weights_averaged_at_the_end" code="synchronised_elsewhere"
# Source: an average of the weights, to be sure that the ranks agree
#           optimizer.zero_grad()
# +     for parameter in model.parameters():
# +         dist.all_reduce(parameter.data)
# +         parameter.data /= world_size
