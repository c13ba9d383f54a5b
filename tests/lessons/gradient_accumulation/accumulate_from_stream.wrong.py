# %% answer="plain_baseline" code="update_every_micro_batch"
# Source: the plain loop, without accumulation
# Every micro-batch is an update of its own.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()


# %% answer="hard_coded" code="raised_stop_iteration" seed=20011
# Source: the groups of the visible case, written down
# Because: the stream ends before the written-down count, and the exception names the line
# The stream always has the groups 4, 4 and 2.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for size in (4, 4, 2):
        optimizer.zero_grad()
        for _ in range(size):
            inputs, targets = next(micro_batches)
            (loss_function(model(inputs), targets) / size).backward()
        optimizer.step()


# %% answer="copied_from_lesson" code="raised_type_error"
# Source: accumulate_gradients of this lesson, pasted in
# Because: a stream has no len(), as the exception says
# A stream has a length, as a list has.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        group_start = index - index % k
        group_size = min(k, len(micro_batches) - group_start)
        loss = loss_function(model(inputs), targets) / group_size
        loss.backward()
        if index + 1 == group_start + group_size:
            optimizer.step()
            optimizer.zero_grad()


# %% edit="cleared_for_each_micro_batch" code="cleared_within_group"
# Source: habit: zero_grad() in front of every backward()
#       while group := list(islice(micro_batches, k)):
# -         optimizer.zero_grad()
#           for inputs, targets in group:
# +             optimizer.zero_grad()

# %% edit="divided_twice" code="gradient_divided_twice"
# Source: a likely mistake: the loss and the gradients are divided
# Dividing once more does no harm.
#               (loss_function(model(inputs), targets) / len(group)).backward()
# +         for parameter in model.parameters():
# +             parameter.grad /= len(group)

# %% edit="sum_kept" code="gradient_not_averaged"
# Source: a likely mistake: no division
# backward() over a group leaves a mean.
#           for inputs, targets in group:
# -             (loss_function(model(inputs), targets) / len(group)).backward()
# +             loss_function(model(inputs), targets).backward()

# %% edit="never_cleared" code="gradient_not_cleared"
# Source: a likely mistake: no zero_grad()
# optimizer.step() uses the gradients up.
#       while group := list(islice(micro_batches, k)):
# -         optimizer.zero_grad()

# %% edit="losses_summed_first" code="graphs_kept"
# Source: a likely mistake: one backward for the sum of the losses
# One backward over a sum is the same and shorter.
#           optimizer.zero_grad()
# -         for inputs, targets in group:
# -             (loss_function(model(inputs), targets) / len(group)).backward()
# +         loss = sum(loss_function(model(inputs), targets) for inputs, targets in group) / len(group)
# +         loss.backward()


# %% answer="last_group_dropped" code="last_group_lost"
# Source: the condition of many tutorials: if (i + 1) % accumulation_steps == 0
# Every group has k members.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        (loss_function(model(inputs), targets) / k).backward()
        if (index + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% edit="two_groups_held" code="several_groups_held"
# Source: a likely mistake: the next group is fetched before this one is trained on
# The end shows only once the next group is there.
# -     while group := list(islice(micro_batches, k)):
# +     group = list(islice(micro_batches, k))
# +     while group:
# +         following = list(islice(micro_batches, k))
#           optimizer.zero_grad()
# ...
#           optimizer.step()
# +         group = following


# %% answer="short_group_divided_by_k" code="short_group_divided_by_k"
# Source: a likely mistake: the rest is updated after the loop and stays divided by k
# An update after the loop is all that the last group needs.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    count = 0
    for inputs, targets in micro_batches:
        (loss_function(model(inputs), targets) / k).backward()
        count += 1
        if count == k:
            optimizer.step()
            optimizer.zero_grad()
            count = 0
    if count:
        optimizer.step()


# %% answer="published_condition" code="update_at_index_zero"
# Source: Hugging Face guide, perf_train_gpu_one, v4.30
# The condition is right, only the length has to go.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for batch_idx, (inputs, targets) in enumerate(micro_batches):
        loss = loss_function(model(inputs), targets) / k
        loss.backward()
        if not batch_idx % k:
            optimizer.step()
            optimizer.zero_grad()


# %% answer="flush_always" code="update_of_nothing"
# Source: a likely mistake: an update after the loop, whether anything is left or not
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    def divide_and_update(count):
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= count
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    count = 0
    for inputs, targets in micro_batches:
        loss_function(model(inputs), targets).backward()
        count += 1
        if count == k:
            divide_and_update(count)
            count = 0
    divide_and_update(count)


# %% edit="read_into_a_list" code="whole_epoch_held"
# Source: a likely mistake: list() gives the stream its length back
# A stream can be made a list first.
# -     while group := list(islice(micro_batches, k)):
# +     micro_batches = list(micro_batches)
# +     for start in range(0, len(micro_batches), k):
# +         group = micro_batches[start : start + k]
#           optimizer.zero_grad()


# %% answer="group_concatenated" code="whole_group_in_one_forward"
# Source: the large batch of this lesson's worked example
# A group that is held can as well run at once.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        inputs, targets = (torch.cat(parts) for parts in zip(*group))
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()


# %% edit="used_ones_kept" code="used_micro_batches_kept"
# Source: a likely mistake: micro-batches are collected for the next epoch
# +     seen = []
#       while group := list(islice(micro_batches, k)):
# +         seen += group

# %% edit="own_loss" code="other_loss_function"
# Source: the loss of the demonstration
#           for inputs, targets in group:
# -             (loss_function(model(inputs), targets) / len(group)).backward()
# +             (F.mse_loss(model(inputs), targets) / len(group)).backward()


# %% answer="first_clear_left_out" code="earlier_gradient_kept"
# Source: a likely mistake: zero_grad() after updates only
# Gradients are cleared after each update, so those of an earlier run enter the first one.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
