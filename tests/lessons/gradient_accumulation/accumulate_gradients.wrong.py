# %% answer="plain_baseline" code="update_every_micro_batch"
# Source: an ordinary training loop
# Every micro-batch gets an update of its own, so nothing is accumulated.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()


# %% answer="hard_coded" code="raised_index_error" seed=20011
# Source: the groups of the visible case, written down
# Because: the table of group sizes has no entry for this epoch, and the exception names the line
# A table of group sizes stands for the rule that gives them.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    sizes = {4: [4] * 8 + [2] * 2, 3: [3] * 6 + [1], 5: [3] * 3}[k]
    ends = {4: (3, 7, 9), 3: (2, 5, 6), 5: (2,)}[k]
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        (loss_function(model(inputs), targets) / sizes[index]).backward()
        if index in ends:
            optimizer.step()
            optimizer.zero_grad()


# %% answer="copied_from_lesson" code="no_update"
# Source: the lesson's worked example of one group
# The example accumulates one group and leaves the update to its caller.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets) / len(micro_batches)
        loss.backward()


# %% answer="library_shortcut" code="short_group_divided_by_k"
# Source: Accelerate's guide to gradient accumulation
# accumulate() divides every loss by k, the ones of the short last group too.
from accelerate import Accelerator
from torch.utils.data import DataLoader


def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    loader = DataLoader(micro_batches, batch_size=None)
    prepared_model, prepared_optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        with accelerator.accumulate(prepared_model):
            accelerator.backward(loss_function(prepared_model(inputs), targets))
            prepared_optimizer.step()
            prepared_optimizer.zero_grad()


# %% answer="cleared_before_step" code="cleared_before_update"
# Source: a likely mistake: zero_grad() and step() in the wrong order
# The gradient is removed before the optimizer reads it.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for index, (inputs, targets) in enumerate(micro_batches):
        group_size = min(k, len(micro_batches) - index // k * k)
        (loss_function(model(inputs), targets) / group_size).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.zero_grad()
            optimizer.step()


# %% answer="cleared_within_group" code="cleared_within_group"
# Source: an ordinary training loop with a condition in front of step()
# zero_grad() at each micro-batch removes what earlier ones added.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for index, (inputs, targets) in enumerate(micro_batches):
        group_size = min(k, len(micro_batches) - index // k * k)
        optimizer.zero_grad()
        (loss_function(model(inputs), targets) / group_size).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.step()


# %% answer="divided_by_epoch" code="divided_by_another_number"
# Source: a likely mistake: len(micro_batches) for the length of the group
# Every loss is divided by the micro-batches of the whole epoch: the gradient times a constant.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        optimizer.zero_grad()
        for inputs, targets in micro_batches[start : start + k]:
            (loss_function(model(inputs), targets) / len(micro_batches)).backward()
        optimizer.step()


# %% answer="clipped" code="gradient_clipped"
# Source: nanoGPT's training loop, which clips to norm 1
# Clipping comes along with the loop and changes the gradient.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets) / len(group)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


# %% answer="divided_twice" code="gradient_divided_twice"
# Source: Accelerate's guide to gradient accumulation: backward() divides already
# A loop keeps its own division and gets a second one from the library.
from accelerate import Accelerator
from torch.utils.data import DataLoader


def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    prepared_model, prepared_optimizer, loader = accelerator.prepare(
        model, optimizer, DataLoader(micro_batches, batch_size=None)
    )
    for inputs, targets in loader:
        with accelerator.accumulate(prepared_model):
            loss = loss_function(prepared_model(inputs), targets)
            loss = loss / k
            accelerator.backward(loss)
            prepared_optimizer.step()
            prepared_optimizer.zero_grad()


# %% answer="not_divided" code="gradient_not_averaged"
# Source: PyTorch forum, 'Why do we need to set the gradients manually to zero': a loop without the division
# k backward passes leave a sum; it is taken for a mean.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        loss_function(model(inputs), targets).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.step()
            optimizer.zero_grad()


# %% answer="never_cleared" code="gradient_not_cleared"
# Source: a likely mistake: zero_grad() is left out with the rest of the plain loop
# The gradient of the last group is still there when the next one begins.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        group_size = min(k, len(micro_batches) - index // k * k)
        (loss_function(model(inputs), targets) / group_size).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.step()


# %% answer="graphs_kept" code="graphs_kept"
# Source: a likely mistake: the losses of a group are summed, then one backward is run
# Every graph of the group is held until the sum's backward, so no memory is saved.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        total = sum(loss_function(model(inputs), targets) for inputs, targets in group)
        (total / len(group)).backward()
        optimizer.step()


# %% answer="last_group_lost" code="last_group_lost"
# Source: Hugging Face guide, perf_train_gpu_one, v4.30, and a public slide deck on efficient training with Accelerate
# The remainder of k never reaches an update.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(micro_batches, start=1):
        loss = loss_function(model(inputs), targets)
        loss = loss / k
        loss.backward()
        if step % k == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% answer="remainder_dropped" code="micro_batches_not_seen_once"
# Source: a likely mistake: drop_last, as a DataLoader offers it
# Micro-batches that fill no group are not run at all.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for group in range(len(micro_batches) // k):
        optimizer.zero_grad()
        for inputs, targets in micro_batches[group * k : (group + 1) * k]:
            (loss_function(model(inputs), targets) / k).backward()
        optimizer.step()


# %% answer="learning_rate_scaled" code="other_learning_rate"
# Source: the linear scaling rule for large batches (Goyal et al., 2017)
# The learning rate of the caller's optimizer is multiplied by k.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for settings in optimizer.param_groups:
        settings["lr"] = settings["lr"] * k
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()


# %% answer="update_at_index_zero" code="update_at_index_zero"
# Source: a published essay on LLM training efficiency
# index % k is 0 for the first micro-batch already, so every group is shifted.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for batch_idx, (inputs, targets) in enumerate(micro_batches):
        loss = loss_function(model(inputs), targets) / k
        loss.backward()
        if not batch_idx % k or (batch_idx + 1 == len(micro_batches)):
            optimizer.step()
            optimizer.zero_grad()


# %% answer="update_one_too_late" code="update_one_too_late"
# Source: a likely mistake: the update at index 0 is noticed, and excluded
# index % k == 0 is true for the first member of the next group, not for the last of this one.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        (loss_function(model(inputs), targets) / k).backward()
        if (index > 0 and index % k == 0) or index == len(micro_batches) - 1:
            optimizer.step()
            optimizer.zero_grad()


# %% answer="large_batch" code="whole_group_in_one_forward"
# Source: the lesson's comparison with the large batch
# The group is put together and runs at once: the right gradient, at the full price.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        inputs, targets = (torch.cat(parts) for parts in zip(*group))
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()


# %% edit="own_loss" code="other_loss_function"
# Source: the loss of the demonstration
# -         loss = loss_function(model(inputs), targets) / group_size
# +         loss = F.mse_loss(model(inputs), targets) / group_size

# %% edit="forward_called" code="forward_called"
# Source: a habit: model.forward(inputs)
# -         loss = loss_function(model(inputs), targets) / group_size
# +         loss = loss_function(model.forward(inputs), targets) / group_size


# %% answer="first_clear_left_out" code="earlier_gradient_kept"
# Source: a likely mistake: zero_grad() after updates only
# Gradients are cleared after each update, so those of an earlier run enter the first one.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="arguments_swapped" code="loss_arguments_swapped"
# Source: a likely mistake: the targets first, as in scikit-learn
# -         loss = loss_function(model(inputs), targets) / group_size
# +         loss = loss_function(targets, model(inputs)) / group_size
