# %% edit="plain_baseline" code="UNKNOWN"
# Source: one process, as before
# The ranks never talk.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)

# %% edit="hard_coded" code="UNKNOWN" seed=20011
# Source: the numbers of the visible case
# k is looked up by ranks and micro-batches.
#       own = micro_batches[rank::world_size]
# +     k = {(2, 19): 3, (2, 16): 2, (2, 6): 2, (3, 10): 3, (3, 6): 2}.get((world_size, len(own)), 4)

# %% answer="copied_from_lesson" code="UNKNOWN"
# Source: train of the lesson
# Each micro-batch makes an update, and no average follows the last ones.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for update, (inputs, targets) in enumerate(own):
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        if every and (update + 1) % every == 0:
            average(model)


# %% edit="all_rows" code="UNKNOWN"
# Source: the list as it is
# Every rank trains on all rows.
# -     own = micro_batches[rank::world_size]
# +     own = micro_batches
#       groups = [own[start : start + k] for start in range(0, len(own), k)]

# %% edit="another_loss" code="UNKNOWN"
# Source: another loss of the same pairs
# The absolute error stands for the squared one.
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (F.l1_loss(model(inputs), targets) / len(group)).backward()


# %% answer="another_optimizer" code="UNKNOWN"
# Source: the optimizer of the demonstration
# An optimizer of its own takes the steps.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    own = micro_batches[rank::world_size]
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or update == len(groups):
            average(model)


# %% edit="average_of_a_copy" code="UNKNOWN"
# Source: state_dict copied
# A copy of the model is averaged.
# + import copy
#   def train_local_sgd(
# ...
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             average(copy.deepcopy(model))

# %% edit="averaged_at_the_start" code="UNKNOWN"
# Source: equal starts made sure of
# One more average comes before the first update.
#       groups = [own[start : start + k] for start in range(0, len(own), k)]
# +     average(model)

# %% edit="averaged_before_update" code="UNKNOWN"
# Source: the order of step and average
#               (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         if update % every == 0 or update == len(groups):
# +             average(model)
#           optimizer.step()
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)

# %% edit="averaged_every_update" code="UNKNOWN"
# Source: every left out
# The ranks average after every update.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)
# +         average(model)


# %% answer="averaged_in_the_inner_loop" code="UNKNOWN"
# Source: the average in the loop of micro-batches
# Micro-batches are counted, and the average comes before the update.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group, start=start + 1):
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
            if index == start + 1 and index > 1 and (start // k) % every == 0:
                average(model)
        optimizer.step()
        optimizer.zero_grad()
    average(model)


# %% edit="averages_of_each_rank" code="UNKNOWN"
# Source: slower ranks that synchronise less often
# The third rank averages half as often as the others.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % (every * max(rank, 1)) == 0 or update == len(groups):

# %% edit="barrier" code="UNKNOWN"
# Source: ranks that wait for each other
# A barrier stands behind each update.
#           optimizer.step()
# +         dist.barrier()

# %% edit="broadcast_from_zero" code="UNKNOWN"
# Source: a driver node that hands out its parameters
# The parameters of rank 0 go to all others.
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             for tensor in [*model.parameters(), *model.buffers()]:
# +                 dist.broadcast(tensor.detach(), src=0)

# %% edit="cleared_within_group" code="UNKNOWN"
# Source: zero_grad in the inner loop
# Only the last micro-batch counts.
#           for inputs, targets in group:
# +             optimizer.zero_grad()

# %% edit="divided_again" code="UNKNOWN"
# Source: a mean that is divided again
#               average(model)
# +             for parameter in model.parameters():
# +                 parameter.data /= world_size

# %% edit="divided_by_ranks" code="UNKNOWN"
# Source: data parallel divides by the ranks
# The loss is divided by the number of ranks too.
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (F.mse_loss(model(inputs), targets) / len(group) / world_size).backward()

# %% edit="eval_mode" code="UNKNOWN"
# Source: statistics that must not drift
# Running statistics are frozen by momentum 0.
#       groups = [own[start : start + k] for start in range(0, len(own), k)]
# +     for module in model.modules():
# +         if isinstance(module, torch.nn.BatchNorm1d):
# +             module.momentum = 0.0

# %% edit="final_average_always" code="UNKNOWN"
# Source: Accelerate: LocalSGD averages on exit
# One more average at the end, needed or not.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0:
#               average(model)
# +     average(model)

# %% edit="final_average_by_full_groups" code="UNKNOWN"
# Source: the end, counted in full groups
# A short last group always gets a final average, also where its update was averaged.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0:
#               average(model)
# +     if len(own) % (k * every):
# +         average(model)

# %% edit="final_average_by_micro_batches" code="UNKNOWN"
# Source: the end, counted in micro-batches
# Whether a final average is needed is asked of micro-batches, not of updates.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0:
#               average(model)
# +     if len(own) % every:
# +         average(model)

# %% edit="final_average_only" code="UNKNOWN"
# Source: one average at the end is enough
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)
# +     average(model)

# %% edit="gradients_averaged" code="UNKNOWN"
# Source: synchronise every few updates, read as data parallel
# Gradients are averaged at every H-th update, and parameters never.
#               (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         if update % every == 0 or update == len(groups):
# +             for parameter in model.parameters():
# +                 dist.all_reduce(parameter.grad)
# +                 parameter.grad /= world_size
#           optimizer.step()
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)

# %% edit="gradients_sent" code="UNKNOWN"
# Source: the norm of the mean gradient, for a log
# All gradients are all-reduced for a look.
#               (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         for parameter in model.parameters():
# +             dist.all_reduce(parameter.grad.clone())

# %% edit="gradients_summed" code="UNKNOWN"
# Source: an all-reduce of gradients
# Gradients are summed at every H-th update.
#               (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         if update % every == 0 or update == len(groups):
# +             for parameter in model.parameters():
# +                 dist.all_reduce(parameter.grad)
#           optimizer.step()
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)

# %% edit="index_from_zero" code="UNKNOWN"
# Source: enumerate counts from 0
# The first update is followed by an average.
#       groups = [own[start : start + k] for start in range(0, len(own), k)]
# -     for update, group in enumerate(groups, start=1):
# +     for update, group in enumerate(groups):
# ...
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0 or update + 1 == len(groups):

# %% edit="last_group_lost" code="UNKNOWN"
# Source: whole groups only
# The short last group makes no update.
#       own = micro_batches[rank::world_size]
# -     groups = [own[start : start + k] for start in range(0, len(own), k)]
# +     groups = [own[start : start + k] for start in range(0, len(own) - k + 1, k)]

# %% edit="loss_not_divided" code="UNKNOWN"
# Source: k forgotten
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             F.mse_loss(model(inputs), targets).backward()

# %% edit="micro_batches_counted" code="UNKNOWN"
# Source: Accelerate: step() counts micro-batches
#       own = micro_batches[rank::world_size]
# -     groups = [own[start : start + k] for start in range(0, len(own), k)]
# -     for update, group in enumerate(groups, start=1):
# +     count = 0
# +     for start in range(0, len(own), k):
# +         group = own[start : start + k]
#           for inputs, targets in group:
#               (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             count += 1
#           optimizer.step()
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if count % every == 0 or count == len(own):


# %% answer="model_in_eval_mode" code="UNKNOWN"
# Source: eval() left from an evaluation
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    model.eval()
    own = micro_batches[rank::world_size]
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or update == len(groups):
            average(model)


# %% edit="momentum_averaged" code="UNKNOWN"
# Source: whatever differs is averaged
#               average(model)
# +             for state in optimizer.state.values():
# +                 for value in state.values():
# +                     if torch.is_tensor(value) and value.dim():
# +                         dist.all_reduce(value)
# +                         value /= world_size

# %% edit="never_cleared" code="UNKNOWN"
# Source: zero_grad forgotten
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="no_final_average" code="UNKNOWN"
# Source: a loop without an end
# The last updates stay on their ranks.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0:

# %% edit="one_too_late" code="UNKNOWN"
# Source: a counter that is compared with larger than
# The ranks average after every + 1 updates.
#       groups = [own[start : start + k] for start in range(0, len(own), k)]
# +     since = 0
# ...
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         since += 1
# +         if since > every or update == len(groups):
#               average(model)
# +             since = 0

# %% edit="reduced_to_zero" code="UNKNOWN"
# Source: dist.reduce
# Only rank 0 gets the mean.
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             for parameter in model.parameters():
# +                 dist.reduce(parameter.detach(), dst=0)
# +                 if rank == 0:
# +                     parameter.data /= world_size

# %% edit="rows_in_one_piece" code="UNKNOWN"
# Source: a slice for each rank
# -     own = micro_batches[rank::world_size]
# +     size = len(micro_batches) // world_size
# +     own = micro_batches[rank * size : (rank + 1) * size]
#       groups = [own[start : start + k] for start in range(0, len(own), k)]

# %% edit="same_rows" code="UNKNOWN"
# Source: a stride without a start
# All ranks train on the rows of rank 0.
# -     own = micro_batches[rank::world_size]
# +     own = micro_batches[::world_size]
#       groups = [own[start : start + k] for start in range(0, len(own), k)]

# %% edit="scaled_by_constant" code="UNKNOWN"
# Source: a factor in front of the loss
# Gradients are scaled by 0.1.
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (0.1 * F.mse_loss(model(inputs), targets) / len(group)).backward()

# %% edit="short_group_divided_by_k" code="UNKNOWN"
# Source: a division by k
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (F.mse_loss(model(inputs), targets) / k).backward()

# %% edit="state_sent" code="UNKNOWN"
# Source: the state is gathered for a look
# Optimizer state is sent and thrown away.
#               average(model)
# +             for state in optimizer.state.values():
# +                 for value in state.values():
# +                     if torch.is_tensor(value) and value.dim():
# +                         dist.all_reduce(value.clone())

# %% edit="statistics_forgotten" code="UNKNOWN"
# Source: accelerate/local_sgd.py: model.parameters()
# Running statistics are not averaged.
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             for parameter in model.parameters():
# +                 dist.all_reduce(parameter.detach())
# +                 parameter.data /= world_size

# %% edit="stepped_twice" code="UNKNOWN"
# Source: step called by hand too
# Parameters move by plain SGD after each step.
#           optimizer.step()
# +         for parameter in model.parameters():
# +             parameter.data -= 0.05 * parameter.grad

# %% edit="two_ranks_assumed" code="UNKNOWN"
# Source: an example with two ranks
# Every second micro-batch, whatever the number of ranks.
# -     own = micro_batches[rank::world_size]
# +     own = micro_batches[rank::2]
#       groups = [own[start : start + k] for start in range(0, len(own), k)]

# %% edit="two_ranks_divided" code="UNKNOWN"
# Source: an example with two ranks
# The sum is divided by 2.
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             for tensor in [*model.parameters(), *(one for one in model.buffers() if one.is_floating_point())]:
# +                 dist.all_reduce(tensor.detach())
# +                 tensor.detach().div_(2)

# %% edit="weights_summed" code="UNKNOWN"
# Source: an all-reduce alone
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             for parameter in model.parameters():
# +                 dist.all_reduce(parameter.detach())

# %% edit="whole_group" code="UNKNOWN"
# Source: one forward of the group
# The group is put together.
#       for update, group in enumerate(groups, start=1):
# -         for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         inputs, targets = (torch.cat(parts) for parts in zip(*group))
# +         F.mse_loss(model(inputs), targets).backward()
