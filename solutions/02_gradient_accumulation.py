# %% [markdown]
# # 2. Gradient accumulation
#
# You train with the gradient of a large batch while only a small one is in memory, and you measure what that saves.
#
# 60 min (estimated) · CPU is enough · after lesson 01

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict the peak memory of an update that is split into micro-batches;
# - accumulate gradients that equal those of the large batch, even when the last group is short;
# - accumulate correctly when micro-batches hold unequal numbers of tokens, within a byte budget;
# - accumulate with Accelerate and with the Trainer, with the same result as your own loop, and measure what each
#   saves.

# %% tags=["given"]
import torch
import torch.nn.functional as F

from grader import MIB, device_name, format_bytes, lesson_device, look, make_chain, measure_peak_memory

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Which four kinds of memory, apart from temporary buffers, does one training step hold?</summary>
# Parameters, gradients, optimizer state, activations.
# </details>
# <details><summary>Which of them shrinks when the batch gets smaller?</summary>
# The activations. The sizes of the other three depend only on the model and the optimizer.
# </details>

# %% [markdown]
# **The problem.** The model is a chain of 16 blocks: Linear(256, 1024), GELU, Linear(1024, 256). You want to update
# it with a batch of 512 rows, which takes 171.7 MiB at its peak on a CPU.
#
# You split the batch into 2 **micro-batches** of 256 rows, run one after the other, and update once. This halves the
# activations, which saves 36 MiB. Is the peak 36 MiB lower?
#
# It is only 5 MiB lower. Where are the other 31?

# %% tags=["given"]
from grader import check_predicted_peak


def make_update(batch_size: int, k: int) -> dict:
    """One AdamW update of a chain in k micro-batches, as measure_peak_memory takes it."""
    model = make_chain(16, 256, 1024).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    inputs = torch.randn(batch_size, 256, device=device)  # [batch, width]

    def step():
        optimizer.zero_grad()
        for rows in inputs.chunk(k):  # [batch / k, width]
            loss = model(rows).square().mean() / k
            loss.backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


# %% [markdown]
# `make_update` builds one update in `k` micro-batches. Read `step` line by line.
#
# `backward()` adds to `.grad` instead of replacing what it contains, so `k` backward passes leave a sum. The loss is
# divided by `k` to turn that sum into a mean.
#
# `zero_grad()` frees the gradients at the start of the update; the first `backward()` allocates them again.
#
# `foreach=False` makes the optimizer update one tensor at a time, so that it needs little memory of its own on every
# device.

# %% [markdown]
# ## Predict: the peak of k micro-batches
#
# The peak of an update occurs at one of two moments.
#
# 1. **A forward pass ends.** All activations of one micro-batch are in memory.
# 2. **The optimizer updates.** No activations are left.
#
# For each moment, list which of the four kinds are held. Gradients are the hard one: go through `step` for `k = 1`,
# then for `k = 2`, and mark when gradients begin to exist.

# %% [markdown]
# **Exercise.** Predict the peak of one update.
#
# *Contract.*
# - All arguments except `k` are in bytes. Return the peak in bytes.
# - Gradients are as large as the parameters, and `k` divides the batch.
# - Leave out inputs and temporary buffers. The meters do not work inside your function.
#
# The check accepts a prediction within 3 % of the measured peak. It asks about other chains, one of them with a small
# batch and one with an optimizer without state.


# %% exercise="predict_peak_bytes"
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    """Peak of one update, from the second update on.

    Args:
        parameter_bytes: Bytes of all parameters.
        state_bytes: Bytes of the optimizer state; 0 for plain SGD.
        activation_bytes: Bytes of the activations of the whole batch.
        k: Number of micro-batches; 1 is the plain update.

    Returns:
        Bytes held at the peak.
    """
    ### BEGIN SOLUTION
    gradient_bytes = parameter_bytes
    accumulated_bytes = gradient_bytes if k > 1 else 0  # held while the second micro-batch runs forward
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    update = parameter_bytes + state_bytes + gradient_bytes
    return max(end_of_forward, update)
    ### END SOLUTION


# %%
look(lambda: format_bytes(predict_peak_bytes(32 * MIB, 64 * MIB, 72 * MIB, 4)))

# %% check="check_predicted_peak" points=2
check_predicted_peak(predict_peak_bytes)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for each of the two moments, list the kinds that are held, once for k = 1 and once for k = 2.<br>
# Then: with k = 2, the first micro-batch has already run backward when the second one runs forward.
# </details>

# %% [markdown]
# **Run.** The meter, `measure_peak_memory`, runs `step` twice and measures the second call. The figure shows your
# prediction next to the measured peak, for a batch of 512 rows. The next cell takes about 10 seconds.

# %%
from grader import draw_bars, draw_curves, draw_timelines, measure_saved_tensors

splits = [1, 2, 4, 8]
peaks = {k: measure_peak_memory(**make_update(512, k)) for k in splits}
parameter_bytes = sum(parameter.nbytes for parameter in make_update(512, 1)["model"].parameters())
plain = make_update(512, 1)
activation_bytes = measure_saved_tensors(lambda: plain["model"](plain["inputs"]).square().mean()).total_bytes

# %%
curves = {"measured": [peaks[k].peak_bytes / MIB for k in splits]}
predicted = look(
    lambda: [predict_peak_bytes(parameter_bytes, 2 * parameter_bytes, activation_bytes, k) for k in splits]
)
if predicted:
    curves["predicted"] = [peak_bytes / MIB for peak_bytes in predicted]
draw_curves(
    splits, curves, title="Peak of one update, batch of 512", x_label="micro-batches k", y_label="MiB held at the peak"
)

# %% [markdown]
# **Investigate.** From `k = 1` to `k = 2` the curve hardly falls. Compare these two updates over time.

# %%
draw_timelines({"k = 1": peaks[1], "k = 2": peaks[2]}, title="One update, batch of 512")

# %% [markdown]
# Each panel begins with the gradients of the previous update. `zero_grad()` frees them, and then a forward pass
# begins.
#
# With `k = 1`, the peak comes at the end of the forward pass, before any gradient exists. (The meter labels it
# *backward* because the first small buffer of that pass is already allocated.) With `k = 2`, the second forward pass
# runs **while the gradients of the first micro-batch are still held**. Halving the activations saves 36 MiB, but
# these gradients cost 32 MiB. The remaining 1 MiB is a difference in buffers.
#
# In words: *the peak is parameters plus optimizer state plus the activations of one micro-batch, plus gradients if
# you accumulate. It is never less than the update itself needs.*

# %% [markdown]
# | moment | parameters | state | gradients | activations |
# |---|---|---|---|---|
# | forward pass ends, k = 1 | yes | yes | no | batch |
# | forward pass ends, k > 1 | yes | yes | yes | batch / k |
# | update | yes | yes | yes | no |

# %% [markdown]
# **Names.** The technique is called *gradient accumulation*, and a part of the batch that runs at once is a
# *micro-batch*. In the Trainer, the rows of a micro-batch are `per_device_train_batch_size`, and `k` is
# `gradient_accumulation_steps`. The rows of a micro-batch times `k`, times the number of devices, are the *effective
# batch size*.
#
# **Modify.** The batch now has 256 rows. Before you run the cell: from `k = 1` to `k = 2`, does the peak rise, fall or
# stay the same?

# %%
small = {f"k = {k}": measure_peak_memory(**make_update(256, k)) for k in (1, 2)}
draw_bars(small, title="Peak of one update, batch of 256")

# %% [markdown]
# It **rises**: halving the batch saves 18 MiB of activations, but the gradients held meanwhile cost 32 MiB.
# Accumulation saves memory only when the activations that are no longer held outweigh these gradients.
#
# <details><summary>Explain in one sentence: when is accumulation of no use for memory?</summary>
# When the activations are small compared with the parameters: the gradients then cost at least as much as the smaller
# micro-batch saves.
# </details>

# %% [markdown]
# ## Complete: equal to the large batch, down to the last group
#
# Saving memory is worth nothing if the gradient changes. Here is a worked example first.
#
# A group has 4 micro-batches of 8 rows, so the large batch has 32 rows, and its loss is a mean over 32 rows. That
# mean equals the mean of the 4 means over 8 rows, so the loss of each micro-batch is divided by 4.

# %% tags=["given"]
from grader import check_accumulated_gradients

torch.manual_seed(0)
regression = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(device)
batches = [(torch.randn(8, 6, device=device), torch.randn(8, 1, device=device) + i) for i in range(10)]


def gradient_of(model: torch.nn.Module) -> torch.Tensor:
    """All gradients of a model, in one vector."""
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


# %%
def accumulate_one_group(model, loss_function, group):
    for inputs, targets in group:  # [8, 6], [8, 1]
        loss = loss_function(model(inputs), targets) / len(group)
        loss.backward()


regression.zero_grad()
accumulate_one_group(regression, F.mse_loss, batches[:4])
accumulated = gradient_of(regression)

regression.zero_grad()
inputs, targets = (torch.cat(parts) for parts in zip(*batches[:4], strict=True))  # [32, 6], [32, 1]
F.mse_loss(regression(inputs), targets).backward()
large = gradient_of(regression)
print(f"relative difference to the large batch: {float((accumulated - large).norm() / large.norm()):.1e}")

# %% [markdown]
# **Exercise.** Turn this into one epoch: `n` micro-batches in groups of `k`, with one update after each group. If `n`
# is not a multiple of `k`, the last group is shorter, and it gets its update, too.
#
# *Contract.*
# - All micro-batches have the same number of rows; `loss_function` returns the mean over them. Call the model, not its
#   `forward`.
# - Run one micro-batch forward and backward at a time.
# - At each `optimizer.step()`, `.grad` must hold the gradient of the mean loss over the micro-batches of **that
#   group**, and nothing from before: an earlier run may have left gradients.
# - Return nothing.
#
# The check compares these gradients, on other sizes and also with another loss; one case has fewer micro-batches than
# `k`.


# %% exercise="accumulate_gradients"
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    """Train one epoch with one update for every k micro-batches; the last group may be shorter.

    Args:
        model: Called on inputs [rows, features].
        loss_function: Takes (outputs, targets) and returns the mean over the rows.
        optimizer: Holds the parameters of the model.
        micro_batches: (inputs, targets) pairs with equal numbers of rows.
        k: Micro-batches for one update.
    """
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        ### BEGIN SOLUTION
        group_start = index - index % k
        group_size = min(k, len(micro_batches) - group_start)
        loss = loss_function(model(inputs), targets) / group_size
        loss.backward()
        if index + 1 == group_start + group_size:
            optimizer.step()
            optimizer.zero_grad()
        ### END SOLUTION


# %%
def show_updates(train, micro_batches, k):
    seen = []
    optimizer = torch.optim.SGD(regression.parameters(), lr=0.0)
    counting = regression.register_forward_hook(lambda *_: seen.append(1))
    report = "after micro-batch {}: update with a gradient of norm {:.3f}"
    optimizer.register_step_pre_hook(lambda *_: print(report.format(len(seen), float(gradient_of(regression).norm()))))
    look(train, regression, F.mse_loss, optimizer, micro_batches, k)
    counting.remove()


show_updates(accumulate_gradients, batches, 4)

# %% check="check_accumulated_gradients" points=3
check_accumulated_gradients(accumulate_gradients)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for n = 10 and k = 4, write down which group each index belongs to, and how many members that group has.<br>
# Then: a group begins where index % k is 0, and ends after k members or at the end of the list.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is the last group not divided by k?</summary>
# Its sum has fewer members, so dividing by k would make the mean too small: half as large for 2 members of 4.
# </details>
#
# **Modify.** In the last line of the cell that defines `show_updates`, change 4 to 3. Before you run it: how many
# updates are there, and which micro-batches contribute to the last one?
#
# <details><summary>Answer</summary>
# Four: after micro-batches 3, 6, 9 and 10. Only the tenth micro-batch contributes to the last one.
# </details>

# %% [markdown]
# ## Write: unequal numbers of tokens
#
# A language model's loss is a mean over **target tokens**. Sentences differ in length, so they are padded;
# `F.cross_entropy` ignores the padding, which has the target -100.
#
# A micro-batch of short sentences therefore holds few target tokens. Is the mean of the micro-batches' means still
# the mean over all target tokens?

# %% tags=["given"]
from grader import check_token_gradients, check_token_peak, make_padded_batch, make_transformer

language_model = make_transformer(1, 32, 2, vocabulary=60, context=32).to(device)
lengths = [(1, 1), (15, 15), (3, 2), (5, 6)]  # target tokens of each row
micro_batches = [make_padded_batch(pair, 16, 60, seed=i, device=device) for i, pair in enumerate(lengths)]


def mean_loss(model: torch.nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean loss over the target tokens; tokens and targets are [rows, time]."""
    logits = model(tokens)  # [rows, time, vocabulary]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


# %%
language_model.zero_grad()
mean_loss(language_model, *(torch.cat(parts) for parts in zip(*micro_batches, strict=True))).backward()
all_tokens = gradient_of(language_model)

language_model.zero_grad()
for tokens, targets in micro_batches:
    (mean_loss(language_model, tokens, targets) / len(micro_batches)).backward()
difference = (gradient_of(language_model) - all_tokens).norm() / all_tokens.norm()
print(f"target tokens in each micro-batch: {[sum(pair) for pair in lengths]}")
print(f"mean of means: the gradient is off by {float(difference):.0%}")

# %% [markdown]
# The first micro-batch has 2 target tokens, the second has 30. In a mean of means, each token of the first weighs as
# much as 15 tokens of the second. The Trainer had this fault until October 2024.

# %% [markdown]
# **Exercise.** Write an accumulation that gives every target token the same weight. You start from the contract
# alone.
#
# *Contract.*
# - `micro_batches` is a list of `(tokens, targets)`, each [rows, time]; padding has the target -100.
# - The gradients are None when you begin. When you return, `.grad` must hold the gradient of the mean loss over **all
#   target tokens of all micro-batches**.
# - Return that mean loss as a float; a one-element tensor without a graph is accepted too.
# - A micro-batch may have no target tokens, but there is at least one in total. You may read the targets first.
#
# *Budget.* The peak may be at most 40 % of what a single forward pass over the whole batch holds, measured on eight
# micro-batches.


# %% exercise="accumulate_token_gradients"
def accumulate_token_gradients(model, micro_batches: list) -> float:
    """Leave the gradient of the mean loss over all target tokens in the model.

    Args:
        model: Called on tokens [rows, time]; returns logits [rows, time, vocabulary].
        micro_batches: (tokens, targets) pairs, each int64 [rows, time]; targets are -100 at padding.

    Returns:
        The mean loss over all target tokens.
    """
    ### BEGIN SOLUTION
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)  # [rows, time, vocabulary]
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
    ### END SOLUTION


# %%
language_model.zero_grad()
look(accumulate_token_gradients, language_model, micro_batches)

# %% check="check_token_gradients" points=2
check_token_gradients(accumulate_token_gradients)

# %% check="check_token_peak" points=2
check_token_peak(accumulate_token_gradients)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: a mean over all tokens is one sum divided by one count. Which of the two is known before the first forward
# pass?<br>
# Then: cross_entropy can return a sum instead of a mean. For the budget: a backward pass frees its graph, so ask what
# would keep a graph alive.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: where can you divide by the count of all tokens?</summary>
# Either you divide each loss before its backward pass, for which the count must be known in advance, or you divide
# the gradients at the end.
# </details>

# %% [markdown]
# ## The price
#
# The rows are the same, so the forward and backward passes need the same FLOPs. What costs time is the splitting.
#
# - Every micro-batch adds to the `.grad` of every parameter, so 8 micro-batches write 32 MiB 8 times.
# - A matrix product with 64 rows keeps a device less busy than one with 512 rows.
#
# Before you run the cell: by what factor does the update get slower on this device from `k = 1` to `k = 8`? The last
# number of the second line gives the answer.

# %%
from grader import measure_step_time

print(measure_step_time(make_update(512, 1)["step"], make_update(512, 8)["step"], run_count=2, warm_up_count=1))
print(f"peak: {peaks[1].peak_bytes / MIB:.1f} MiB for k = 1, {peaks[8].peak_bytes / MIB:.1f} MiB for k = 8")

# %% [markdown]
# For comparison with your device, here is a published run on a V100 with BERT-large:
#
# | | samples per second | memory occupied |
# |---|---|---|
# | batch 4 | 8.86 | 14,949 MiB |
# | batch 1, accumulate 4 | 7.75 | 8,681 MiB |
#
# That is 13 % fewer samples per second for 42 % less memory, so use the largest micro-batch that fits. For a batch of
# 64 rows where 4 rows fit, run 16 micro-batches of 4 rows, not 64 of 1 row.
#
# Batch size is a choice about **quality**: how noisy an update may be. Micro-batch size is a choice about **memory**.
# Accumulation separates the two.

# %% [markdown]
# **At real scale.** Your machine can forecast what BERT-large needs without a GPU: `forecast_peak_memory` runs the
# same meter on tensors that have a shape but no data. CUDA's operators are emulated: they follow PyTorch's rules, and
# no device has confirmed the figures yet.
#
# The published run accumulated 4 micro-batches of one row. The forecast uses 2; the peak is the same.
#
# Next to the forecast is what `nvidia-smi` showed in that run, less 1,343 MiB that CUDA takes before the first
# tensor. The vanilla job is forecast twice: `zero_grad()` either frees the gradients or keeps them, filled with
# zeros. Before you run the cell: which of the two fits the published run? The cell takes 5 to 25 seconds.

# %%
from functools import partial

from grader import BERT_LARGE_ROWS, bert_large_recipe, forecast_peak_memory

recipes = {"vanilla": bert_large_recipe("vanilla"), "accumulation": bert_large_recipe("accumulation", accumulate=2)}


def keep_gradients(recipe):
    job = recipe()
    job["optimizer"].zero_grad = partial(job["optimizer"].zero_grad, set_to_none=False)
    return job


for name, zeroing in (("vanilla", "freed"), ("vanilla", "kept "), ("accumulation", "freed")):
    prepare = recipes[name] if zeroing == "freed" else partial(keep_gradients, recipes[name])
    forecast_mib = forecast_peak_memory(prepare).peak_bytes / MIB
    published_mib = BERT_LARGE_ROWS[name].less_context_mib
    gap = f"gap {published_mib - forecast_mib:>5,.0f} MiB"
    print(f"{name:<13} gradients {zeroing} {forecast_mib:>6,.0f} MiB, published {published_mib:>6,} MiB, {gap}")

# %% [markdown]
# The run is from January 2022, when `zero_grad()` filled gradients with zeros and kept them, so they were held during
# the forward pass. That explains 1.2 GiB of the gap without accumulation; with accumulation, gradients are held
# during a forward pass in either case. The rest of the gap is unexplained. The forecast counts tensors, whereas
# `nvidia-smi` counts what the allocator has reserved.
#
# Accumulation **cannot** make a single row fit that is too large, nor shrink parameters, gradients or optimizer
# state.

# %% [markdown]
# ## Three forms of one run
#
# The run has 80 sentence pairs in micro-batches of 8 rows with `k = 4`, which makes groups of 4, 4 and 2. All forms
# use SGD with a constant learning rate, read the pairs in order, and do not clip gradients; `plain_trainer_arguments`
# changes the Trainer's defaults accordingly.
#
# | raw | Accelerate | Trainer |
# |---|---|---|
# | rows of a `DataLoader` | rows of a prepared `DataLoader` | `per_device_train_batch_size` |
# | `k`, and your own groups | `Accelerator(gradient_accumulation_steps=k)` | `gradient_accumulation_steps` |
# | `(loss / len(group)).backward()` | `accelerator.backward(loss)`, in `accelerator.accumulate` | done inside |
# | `optimizer.step()` after a group | `optimizer.step()` each time: a prepared optimizer waits | done inside |

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import (
    check_accumulation_accelerate,
    check_accumulation_trainer,
    compare_forms,
    make_pair_classifier,
    make_sentence_pairs,
    make_tokenizer,
    plain_trainer_arguments,
    tokenize_pairs,
)

pairs = tokenize_pairs(make_sentence_pairs(pairs=80), make_tokenizer())
same_run = plain_trainer_arguments(device)


# %% tags=["given"]
def make_classifier():
    """Build a small BERT classifier; the section Further says what the attribute is for."""
    model = make_pair_classifier().to(device)
    model.accepts_loss_kwargs = False
    return model


def train_raw(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    """The reference: groups of k micro-batches, the last one shorter."""
    micro_batches = list(DataLoader(dataset, batch_size=rows))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        for batch in group:
            loss = model(**{name: values.to(device) for name, values in batch.items()}).loss
            (loss / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% [markdown]
# Here is the Accelerate loop from its guide. `accelerator.accumulate` decides when the prepared optimizer really
# steps. The plain run processes all rows of an update at once.
#
# *From raw* is the distance between the final weights and those of the raw loop, relative to how far the raw loop's
# weights have moved. The peak is that of a whole run. Before you run the cell: do all rows end with the same weights?


# %%
def guide_loop(model, dataset, rows, k, learning_rate):
    accelerator = Accelerator(gradient_accumulation_steps=k)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, sgd, loader = accelerator.prepare(model, sgd, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            sgd.step()
            sgd.zero_grad()


def show_forms(**forms):
    runs = {"plain": lambda model: train_raw(model, pairs, 32, 1, 0.1)}
    for name, train in ({"raw": train_raw} | forms).items():
        runs[name] = lambda model, train=train: train(model, pairs, 8, 4, 0.1)
    print(compare_forms(runs, make_classifier, updates=3))


show_forms(guide=guide_loop)

# %% [markdown]
# The guide's loop saves the memory, but it ends with different weights, and no warning says so. AdamW would largely
# hide the difference, because it divides each gradient by its own size.
#
# `accelerator.backward` divides every loss by `k`. The short last group has only 2 micro-batches, but is divided by 4,
# too. You can derive from `len(loader)` which micro-batches these are.
#
# Clipping and a learning-rate schedule belong to an **update**. With Accelerate, clip only if
# `accelerator.sync_gradients` is true; a prepared schedule waits for the update, as the optimizer does. With unequal
# numbers of tokens, multiply the sum of the losses by `k` and divide it by the group's token count, because `backward`
# divides by `k` again.

# %% [markdown]
# **Exercise.** Write the loop with Accelerate so that it ends with the weights of `train_raw`.
#
# *Contract.*
# - Use every row once, in order, in micro-batches of `rows` rows; the last one may have fewer. Form groups of `k`
#   through `accelerator.accumulate`. For the backward pass, use `accelerator.backward` or your own.
# - At every update, the gradient must be that of `train_raw`: of the mean of the losses of that group's micro-batches,
#   where a short micro-batch counts as much as a full one.
# - Use SGD with `learning_rate`. Return nothing.
#
# The check compares every gradient and the weights, with other numbers of rows and other learning rates. With larger
# micro-batches, the peak may be at most 40 % of that without accumulation.


# %% exercise="accumulate_with_accelerate"
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    """Train one epoch with Accelerate, equal to train_raw.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of a micro-batch.
        k: Micro-batches for one update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    last_group = len(loader) % k or k
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            correction = k / last_group if index >= len(loader) - last_group else 1
            accelerator.backward(model(**batch).loss * correction)
            optimizer.step()
            optimizer.zero_grad()
    ### END SOLUTION


# %%
look(lambda: show_forms(Accelerate=accumulate_with_accelerate))

# %% check="check_accumulation_accelerate" points=2
check_accumulation_accelerate(accumulate_with_accelerate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: print the index of each micro-batch next to the size of its group.<br>
# Then: a loss that will be divided by k, but should be divided by the size of its group, needs one factor.
# </details>

# %% [markdown]
# **Exercise.** Write the same run with the Trainer; `same_run` holds its other arguments.
#
# *Contract.* As above, but train through `Trainer.train`.


# %% exercise="accumulate_with_trainer"
def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    """Train one epoch with the Trainer, equal to train_raw.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of a micro-batch.
        k: Micro-batches for one update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    ### END SOLUTION


# %%
look(lambda: show_forms(Accelerate=accumulate_with_accelerate, Trainer=accumulate_with_trainer))

# %% check="check_accumulation_trainer" points=2
check_accumulation_trainer(accumulate_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: three arguments are missing in `same_run`.<br>
# Then: their defaults are 8 rows, one accumulation step, and a learning rate of 5e-5.
# </details>

# %% [markdown]
# - **Use it when** a batch does not fit, and its activations outweigh the gradients.
# - **Do not when** the whole batch fits: accumulation costs time.
# - **Combine with** checkpointing (lesson 03), where even one row is too large.
#
# Equality has limits: an operation that mixes the rows of a batch sees only the micro-batch. BatchNorm takes its mean
# over fewer rows, and a contrastive loss with negatives from the batch has fewer of them.

# %% [markdown] tags=["further"]
# ## Further: the largest micro-batch that fits
#
# You have a batch, a budget in bytes, and a function that forecasts the peak.
#
# **Exercise.** Find the largest micro-batch that fits.
#
# *Contract.*
# - `forecast_peak(rows)` returns the peak in bytes for micro-batches of `rows` rows, from 1 to `batch`.
# - The micro-batches have to be equal, so their size divides `batch`. Return the rows of one of them; a float that
#   equals the integer is accepted.
# - A peak equal to the budget fits.
# - If nothing fits, raise a `ValueError` with a message that says so.
#
# The check asks about hypothetical jobs.
#
# Before you write a search, think of the figure for a batch of 256 rows: does a smaller micro-batch always need less
# memory?

# %% tags=["given"]
from grader import check_largest_micro_batch


# %% exercise="largest_micro_batch"
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    """Find the largest micro-batch that fits the budget.

    Args:
        forecast_peak: Function of the rows of a micro-batch; returns peak bytes.
        batch: Rows of the whole batch.
        budget_bytes: The most that may be held.

    Returns:
        Rows of a micro-batch; they divide the batch.

    Raises:
        ValueError: if not even one row fits.
    """
    ### BEGIN SOLUTION
    for rows in range(batch, 0, -1):
        if batch % rows == 0 and forecast_peak(rows) <= budget_bytes:
            return rows
    raise ValueError(f"one row needs {forecast_peak(1):,} bytes, and the budget is {budget_bytes:,}")
    ### END SOLUTION


# %%
look(largest_micro_batch, lambda rows: 100 + 3 * rows + (150 if rows < 48 else 0), 48, 250)

# %% check="check_largest_micro_batch" points=1
check_largest_micro_batch(largest_micro_batch)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: list the sizes that divide the batch.<br>
# Then: from which end do you search, if a larger size may fit where a smaller one does not?
# </details>

# %% [markdown]
# ## Further: a gradient that is too large
#
# `make_classifier` sets an attribute of the model. The next cell takes the Trainer's first gradient without that
# attribute, for this classifier and for a causal language model, and compares its norm with that of the large batch:
# 16 rows in 4 micro-batches.

# %%
from torch.optim.optimizer import register_optimizer_step_pre_hook
from transformers import LlamaConfig, LlamaForCausalLM, default_data_collator

tokens, targets = make_padded_batch([2, 15, 4, 9] * 4, 16, 60, seed=0)
labels = tokens.where(targets != -100, -100)
sentences = [{"input_ids": row, "labels": own} for row, own in zip(tokens, labels, strict=True)]
small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
causal = LlamaForCausalLM(LlamaConfig(vocab_size=60, max_position_embeddings=16, **small)).to(device)


def show_first_gradient(name, model, rows):
    model(**{key: values.to(device) for key, values in default_data_collator(rows).items()}).loss.backward()
    large, seen = gradient_of(model), []
    handle = register_optimizer_step_pre_hook(lambda *_: seen.append(gradient_of(model)))
    arguments = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4, "learning_rate": 0.1}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=rows).train()
    handle.remove()
    print(f"{name}: {float(seen[0].norm() / large.norm()):.2f} times the gradient of the large batch")


show_first_gradient("causal language model", causal, sentences)
show_first_gradient("classifier", make_pair_classifier().to(device), [pairs[index] for index in range(16)])

# %% [markdown]
# The Trainer counts the items of a group, `num_items_in_batch`. Which of these two models uses that number? And what
# divides the loss when a model does not?
#
# **Exercise.** Train such a classifier with the Trainer so that it ends with the weights of `train_raw`.
#
# *Contract.* As for `accumulate_with_trainer`, except that the model comes without the attribute.

# %% tags=["given"]
from grader import check_repaired_trainer


# %% exercise="repair_trainer"
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    """Train one epoch with the Trainer, equal to train_raw, whatever the model does with num_items_in_batch.

    Args:
        model: A classifier of transformers; returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of a micro-batch.
        k: Micro-batches for one update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    trainer = Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()
    ### END SOLUTION


# %% check="check_repaired_trainer" points=1
check_repaired_trainer(repair_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: by which factor is the gradient too large, in full groups and in the last one?<br>
# Then: the Trainer asks the model whether it accepts keywords for its loss. In `make_classifier`, the attribute answers
# this question.
# </details>

# %% [markdown]
# ## Further: bug hunt
#
# This loop was published in a guide to efficient training. Suppose that there are 10 micro-batches and
# `accumulation_steps` is 4. The loop runs, and the loss falls.
#
# ```python
# for batch_idx, (inputs, targets) in enumerate(train_loader):
#     loss = loss_function(model(inputs), targets) / accumulation_steps
#     loss.backward()
#     if not batch_idx % accumulation_steps or (batch_idx + 1 == len(train_loader)):
#         optimizer.step()
#         optimizer.zero_grad()
# ```
#
# At which indices does it update? How many micro-batches are in each group, and what is each sum divided by?

# %% [markdown]
# <details><summary>What the loop does</summary>
# It updates at 0, 4, 8 and 9. The groups have 1, 4, 4 and 1 members, but all losses are divided by 4, so the
# gradients of the first and the last update are four times too small.
# </details>
#
# **Exercise.** Repair it for a **stream**: `micro_batches` can be iterated over only once and has no length.
#
# *Contract.* As for `accumulate_gradients`:
# - Update once for every `k` micro-batches; the last group may be shorter. Average each group over its own members.
# - The model may hold gradients of an earlier run.
# - Run one micro-batch forward and backward before the next one begins.
# - Hold at most one group of micro-batches at a time: the stream may not fit into memory.

# %% tags=["given"]
from itertools import islice

from grader import check_stream_updates


# %% exercise="accumulate_from_stream"
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    """Train one epoch on a stream of micro-batches of unknown length.

    Args:
        model: Called on inputs [rows, features].
        loss_function: Takes (outputs, targets) and returns the mean over the rows.
        optimizer: Holds the parameters of the model.
        micro_batches: An iterator of (inputs, targets) pairs with equal numbers of rows.
        k: Micro-batches for one update.
    """
    ### BEGIN SOLUTION
    while group := list(islice(micro_batches, k)):
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
    ### END SOLUTION


# %%
show_updates(accumulate_from_stream, iter(batches), 4)

# %% check="check_stream_updates" points=1
check_stream_updates(accumulate_from_stream)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what has to be known about a group before its first backward pass, and what can be corrected after its last
# one?<br>
# Then: either read one group ahead, or divide the gradients once the group is complete.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Why can the peak rise from k = 1 to k = 2?</summary>
# The gradients of the first micro-batch are held while the second one runs its forward pass.
# </details>
# <details><summary>What is the loss of a micro-batch divided by?</summary>
# The number of micro-batches in its own group or, where tokens are weighed equally, the group's count of target
# tokens.
# </details>
# <details><summary>Which choice is about quality: batch size or micro-batch size?</summary>
# The batch size. The micro-batch size is about memory.
# </details>
#
# **Takeaway: accumulation saves the activations of the rest of the batch, but holds gradients from one micro-batch to
# the next.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 03, gradient checkpointing.

# %% [markdown]
# **Sources**
# - [Efficient training on a single GPU][guide]: the V100 figures.
# - *DL Training: An in-depth discussion*, an essay: the loop of the bug hunt.
# - [PyTorch, torch.Tensor.backward][backward]: gradients are added to `.grad`.
# - [Hugging Face, fixing gradient accumulation][fix]: the mean of means in the Trainer, October 2024.
# - [transformers issue 47688][issue]: models that take `num_items_in_batch` but do not divide by it.
# - [Accelerate, gradient accumulation][accelerate]: `accumulate`, and what it divides.
#
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
# [backward]: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
# [fix]: https://huggingface.co/blog/gradient_accumulation
# [issue]: https://github.com/huggingface/transformers/issues/47688
# [accelerate]: https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
