# %% edit="plain_baseline" code="never_averaged"
# Source: one process, as before
# The ranks never talk.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)

# %% edit="hard_coded" code="updates_misplaced" seed=20011
# Source: the numbers of the visible case
# k is looked up by ranks and micro-batches.
#       own = micro_batches[rank::world_size]
# +     k = {(2, 19): 3, (2, 16): 2, (2, 6): 2, (3, 10): 3, (3, 6): 2}.get((world_size, len(own)), 2)

# %% answer="copied_from_lesson" code="update_every_micro_batch"
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


# %% edit="same_rows" code="same_rows_on_every_rank"
# Source: a stride without a start
# All ranks train on the rows of rank 0.
# -     own = micro_batches[rank::world_size]
# +     own = micro_batches[::world_size]
#       groups = [own[start : start + k] for start in range(0, len(own), k)]

# %% edit="rows_in_one_piece" code="rows_in_one_piece"
# Source: a slice for each rank
# -     own = micro_batches[rank::world_size]
# +     size = len(micro_batches) // world_size
# +     own = micro_batches[rank * size : (rank + 1) * size]
#       groups = [own[start : start + k] for start in range(0, len(own), k)]

# %% edit="loss_not_divided" code="gradient_not_averaged"
# Source: k forgotten
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             F.mse_loss(model(inputs), targets).backward()

# %% edit="short_group_divided_by_k" code="short_group_divided_by_k"
# Source: a division by k
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (F.mse_loss(model(inputs), targets) / k).backward()

# %% edit="never_cleared" code="gradient_not_cleared"
# Source: zero_grad forgotten
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="gradients_averaged" code="gradients_averaged"
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

# %% edit="averaged_before_update" code="averaged_before_update"
# Source: the order of step and average
#               (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +         if update % every == 0 or update == len(groups):
# +             average(model)
#           optimizer.step()
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)


# %% edit="averaged_every_update" code="averaged_every_update"
# Source: every left out
# The ranks average after every update.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)
# +         average(model)

# %% edit="micro_batches_counted" code="micro_batches_counted"
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

# %% edit="index_from_zero" code="averaged_at_index_zero"
# Source: enumerate counts from 0
# The first update is followed by an average.
#       groups = [own[start : start + k] for start in range(0, len(own), k)]
# -     for update, group in enumerate(groups, start=1):
# +     for update, group in enumerate(groups):
# ...
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0 or update + 1 == len(groups):

# %% edit="no_final_average" code="no_final_average"
# Source: a loop without an end
# The last updates stay on their ranks.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0:

# %% edit="final_average_only" code="final_average_only"
# Source: one average at the end is enough
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# -             average(model)
# +     average(model)

# %% edit="final_average_always" code="final_average_twice"
# Source: Accelerate: LocalSGD averages on exit
# One more average at the end, needed or not.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % every == 0:
#               average(model)
# +     average(model)

# %% edit="broadcast_from_zero" code="weights_of_one_rank"
# Source: a driver node that hands out its parameters
# The parameters of rank 0 go to all others.
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             for tensor in [*model.parameters(), *model.buffers()]:
# +                 dist.broadcast(tensor.detach(), src=0)

# %% edit="divided_again" code="weights_scaled"
# Source: a mean that is divided again
#               average(model)
# +             for parameter in model.parameters():
# +                 parameter.data /= world_size


# %% answer="model_in_eval_mode" code="not_in_train_mode"
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


# %% edit="averages_of_each_rank" code="collectives_disagree"
# Source: slower ranks that synchronise less often
# The third rank averages half as often as the others.
#           optimizer.zero_grad()
# -         if update % every == 0 or update == len(groups):
# +         if update % (every * max(rank, 1)) == 0 or update == len(groups):

# %% edit="divided_by_ranks" code="gradient_divided_by_ranks"
# Source: the mean over all micro-batches of all ranks, as in data parallel training by hand
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             (F.mse_loss(model(inputs), targets) / len(group) / world_size).backward()

# %% edit="parameters_averaged_by_hand" code="statistics_not_averaged"
# Source: average_tensors of the lesson, as Accelerate averages
#           if update % every == 0 or update == len(groups):
# -             average(model)
# +             average_tensors(list(model.parameters()), world_size)

# %% edit="averaged_at_the_start" code="averaged_at_the_start"
# Source: DDP makes the ranks equal before it trains
#       groups = [own[start : start + k] for start in range(0, len(own), k)]
# +     average(model)

# %% edit="loss_averaged_for_the_log" code="other_bytes"
# Source: a loss of all ranks, to be printed
#           for inputs, targets in group:
# -             (F.mse_loss(model(inputs), targets) / len(group)).backward()
# +             loss = F.mse_loss(model(inputs), targets) / len(group)
# +             loss.backward()
# +         dist.all_reduce(loss.detach())
