# %% [markdown]
# # 9. Learning-rate schedules
#
# You compute the learning rate of any update, step a schedule once per update, and resume a run that can still be
# extended.
#
# 60 min (estimated) · CPU is enough · after lesson 08

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict the learning rate of six schedules at any update;
# - put clipping and the schedule in the right place in a loop that accumulates gradients;
# - write a schedule that resumes from a number of updates and can be extended;
# - get the same learning rates, and the same weights, from Accelerate and the Trainer.

# %% tags=["given"]
import math

import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_scheduler

from grader import device_name, lesson_device, look

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 08: which optimizer state does 8-bit Adam keep in 32 bits?</summary>
# The state of tensors with fewer than 4,096 elements and, if you ask for it, that of embeddings.
# </details>
# <details><summary>Lesson 02: by what do you divide the loss of a micro-batch when the last group is short?</summary>
# By the number of micro-batches in its own group.
# </details>

# %% [markdown]
# **The problem.** A run makes 60 updates with a cosine schedule, so its learning rate falls from 0.1 to 0. To save
# memory, you split each batch into 4 micro-batches, but leave the call `scheduler.step()` where it was, right after
# `loss.backward()`. There is no error; PyTorch warns once, about the order of two calls. What does the learning rate
# do?

# %%
optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
for update in range(60):
    if update % 5 == 0:
        print(f"update {update:>2}: learning rate {scheduler.get_last_lr()[0]:.4f}")
    for _ in range(4):  # the micro-batches of one update
        optimizer.step()  # only to keep PyTorch from warning
        scheduler.step()

# %% [markdown]
# The rate reaches 0 at update 15, a quarter of the way, and then *climbs back* to the peak, because PyTorch's cosine is
# periodic. The loss stalls and may rise again, and nobody suspects the schedule.
#
# A schedule is a function of **updates**. It knows nothing about micro-batches, rows or epochs unless you account for
# them. So count first: an epoch has `updates = micro_batches // k` if all groups are full, and one more if the last
# group is short.

# %% [markdown]
# ## Predict: the rate at any update
#
# Updates are counted from 0. Every schedule starts with a **warm-up**: the rate rises by the same amount at each
# update, from 0 at update 0 to the peak at update `warm_up`. (So the very first update changes nothing.) Afterwards:
#
# | schedule | after the warm-up |
# |---|---|
# | `"linear"` | falls by the same amount at each update, to 0 at update `updates` |
# | `"cosine"` | follows half a period of a cosine, to 0 at update `updates` |
# | `"exponential"` | shrinks by the same factor at each update, to 1 % of the peak at update `updates` |
# | `"step"` | is divided by 10 after each complete third of the updates that follow the warm-up |

# %% [markdown]
# | schedule | after the warm-up |
# |---|---|
# | `"inverse_square_root"` | is proportional to one over the square root of the update's number, without a jump |
# | `"wsd"` | stays at the peak until the last fifth of *all* updates, then falls in equal steps to 0 at `updates` |
#
# The last update of the run is number `updates - 1`, so the value at update `updates` is the one that would come next.
# WSD is short for warm-up, stable, decay.

# %% [markdown]
# **Exercise.** Turn the six descriptions into a function.
#
# *Contract.*
# - Return the learning rate of update `update`, from 0 to `updates - 1`, as a number or a tensor of one element.
# - `updates` is a multiple of 5, and `updates - warm_up` a multiple of 3; `warm_up` is at least 1.
#
# The check asks for every update of three runs.

# %% tags=["given"]
from grader import check_learning_rates


# %% exercise="learning_rate_at"
def learning_rate_at(schedule: str, update: int, updates: int, warm_up: int, peak: float) -> float:
    """Learning rate of one update.

    Args:
        schedule: One of the six names of the table.
        update: Number of the update, from 0.
        updates: All updates of the run, the warm-up included.
        warm_up: Updates of the warm-up.
        peak: The rate at update warm_up.

    Returns:
        The rate of this update.
    """
    ### BEGIN SOLUTION
    if update < warm_up:
        return peak * update / warm_up
    done = (update - warm_up) / (updates - warm_up)
    factors = {
        "linear": 1 - done,
        "cosine": (1 + math.cos(math.pi * done)) / 2,
        "exponential": 0.01**done,
        "step": 0.1 ** (3 * (update - warm_up) // (updates - warm_up)),
        "inverse_square_root": math.sqrt(warm_up / update),
        "wsd": min(1, (updates - update) / (updates / 5)),
    }
    return peak * factors[schedule]
    ### END SOLUTION


# %%
from grader import draw_curves

SCHEDULES = ("linear", "cosine", "exponential", "step", "inverse_square_root", "wsd")


def show_schedules():
    updates = range(0, 60, 3)
    curves = {name: [learning_rate_at(name, update, 60, 6, 0.1) for update in updates] for name in SCHEDULES}
    draw_curves(updates, curves, title="Six schedules", x_label="update", y_label="learning rate")


look(show_schedules)

# %% check="check_learning_rates" points=2
check_learning_rates(learning_rate_at)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what fraction of the updates after the warm-up has been made? Four of the six schedules need nothing else.<br>
# Then: for the inverse square root, which constant makes the rate equal to the peak at update `warm_up`?
# </details>

# %% [markdown]
# **Investigate.** Does your function agree with the library that you will use? `transformers.get_scheduler` offers
# three of the six schedules under the same convention. The cell prints the largest difference over 60 updates.


# %%
def compare_with_transformers():
    for ours, theirs in {"linear": "linear", "cosine": "cosine", "inverse_square_root": "inverse_sqrt"}.items():
        optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1)
        scheduler = get_scheduler(theirs, optimizer, num_warmup_steps=6, num_training_steps=60)
        largest = 0.0
        for update in range(60):
            largest = max(largest, abs(scheduler.get_last_lr()[0] - learning_rate_at(ours, update, 60, 6, 0.1)))
            optimizer.step()
            scheduler.step()
        print(f"{ours:<20} differs by at most {largest:.1g}")


look(compare_with_transformers)

# %% [markdown]
# Two properties are worth remembering.
#
# - **Inverse square root** halves the rate between update `w` and update `4w`, anywhere after the warm-up, so it needs
#   no end. Linear and cosine need `updates` before they start, and are wrong if the run stops early or goes on.
# - **WSD** needs its end only when you decide to decay.

# %% [markdown]
# <details><summary>An essay (see Sources) describes the inverse square root as "set to 0 at the beginning of training
# and then increased by a fixed factor each epoch until reaching a maximum value, after which it remains constant", and
# exponential decay in nearly the same words. What is wrong?</summary>
# The essay describes a warm-up twice and never a decay. An inverse square root falls after its peak, and an exponential
# decay falls from the start. Both are counted in updates, not epochs, and a linear warm-up adds a fixed amount instead
# of multiplying by a fixed factor.
# </details>

# %% [markdown]
# ## Complete: one group, one clip, one step
#
# **Clipping** scales a gradient down to a given norm if its own norm is larger. With accumulation, the call could run
# in two places. The cell compares them for one group of 4 micro-batches, the first of which contains outliers. It
# prints the norm of the resulting gradient, and its cosine similarity with the unclipped gradient of the whole group.

# %%
from grader import make_chain

model = make_chain(4, 32, 64).to(device)
inputs, targets = torch.randn(2, 4, 8, 32, generator=torch.Generator().manual_seed(0)).to(device)
targets[0] *= 8  # [micro-batch, rows, width]
for place in ("never", "after the group", "after each micro-batch"):
    model.zero_grad()
    for rows, wanted in zip(inputs, targets, strict=True):
        (F.mse_loss(model(rows), wanted) / 4).backward()
        if place == "after each micro-batch":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
    if place == "after the group":
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    if place == "never":
        whole = gradient
    cosine = F.cosine_similarity(gradient, whole, dim=0).item()
    print(f"clipped {place:<24} norm {gradient.norm().item():.3f}   cosine {cosine:.3f}")

# %% [markdown]
# Clipping the group changes the length of the gradient and keeps its direction. Clipping after each micro-batch scales
# down what has been accumulated so far, again and again, so the last micro-batches count most and the update points in
# another direction.
#
# **Exercise.** Complete the loop by writing what happens in one group.
#
# *Contract.*
# - Each group, the short last one included, makes one update with the gradient of its mean loss, clipped to `max_norm`.
# - The schedule steps once per update, after it.
# - Return the norm of each update's gradient *before* clipping, as a list of numbers or tensors of one element.
# - No parameter has a gradient before the first group.
#
# The check compares rates, norms and weights, also with another `k`.

# %% tags=["given"]
from grader import check_scheduled_updates


# %% exercise="train_scheduled"
def train_scheduled(model, loss_function, optimizer, scheduler, micro_batches, k: int, max_norm: float) -> list[float]:
    """Train one epoch with accumulation, clipping and a schedule.

    Args:
        model: Called on inputs [rows, features].
        loss_function: Takes (outputs, targets) and returns the mean over the rows.
        optimizer: Holds the parameters of the model.
        scheduler: A schedule of PyTorch on this optimizer.
        micro_batches: A list of (inputs, targets) with equal numbers of rows.
        k: Micro-batches for one update.
        max_norm: Largest norm of an update's gradient.

    Returns:
        The norm of each update's gradient before it is clipped.
    """
    norms = []
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        ### BEGIN SOLUTION
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
        optimizer.step()
        scheduler.step()
        ### END SOLUTION
    return norms


# %%
def show_norms():
    model = make_chain(4, 32, 64).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = LambdaLR(optimizer, lambda update: 1 / (1 + update))
    micro_batches = 2 * list(zip(inputs, targets, strict=True)) + [(inputs[1], targets[1])]
    norms = train_scheduled(model, F.mse_loss, optimizer, scheduler, micro_batches, 4, 0.05)
    print("norms before clipping:", ", ".join(f"{norm:.3f}" for norm in norms))
    print(f"rate for the next update: {scheduler.get_last_lr()[0]:.4f}")


look(show_norms)

# %% check="check_scheduled_updates" points=2
check_scheduled_updates(train_scheduled)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which of the calls belong to a micro-batch, and which to the group?<br>
# Then: `clip_grad_norm_` returns a norm. Is it the norm before clipping or after?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why are the norms worth logging?</summary>
# The norm before clipping shows whether clipping is rare (a guard against outliers) or constant (the learning rate then
# no longer means what it says, because every update uses a gradient of the same length).
# </details>

# %% [markdown]
# ## Write: a schedule that resumes and can grow
#
# How long should a run be? With cosine, you must decide before it starts, so to compare three lengths you train three
# times. With WSD, one long stable phase serves all three: each length branches off with a short decay of its own.

# %%
lengths = (1_000, 2_000, 4_000)
cosine_updates = sum(lengths)
wsd_updates = round(0.8 * lengths[-1]) + sum(round(0.2 * length) for length in lengths)
print(f"three lengths with cosine: {cosine_updates:,} updates")
print(f"three lengths with WSD, a decay of 20 % each: {wsd_updates:,} updates")

# %% [markdown]
# A schedule that can be extended must also survive a restart. The optimizer is restored from a checkpoint, in which
# `lr` is the rate **at the moment of saving**, already scaled by the schedule. Scaling it again makes the rate shrink
# with every restart. PyTorch's schedulers therefore keep the peak of each group as `initial_lr`.

# %% [markdown]
# **Exercise.** Write WSD so that it can start at any update.
#
# *Contract.*
# - The rate of update `u` is its group's peak times a factor: `u / warm_up` in the warm-up; 1 for the next `stable`
#   updates; then it falls by equal amounts, to 0 after `decay` updates, and stays 0.
# - `done` updates were made before. If that is 0, each group's `lr` is its peak, and `initial_lr` may be missing.
#   Otherwise `lr` is as it was at the interruption, and `initial_lr` is the peak.
# - Return an object with `step()`, called after each update. The rates must be right as soon as it exists.

# %% tags=["given"]
from grader import check_wsd_histories


# %% exercise="make_wsd"
def make_wsd(optimizer, warm_up: int, stable: int, decay: int, done: int = 0):
    """A schedule with warm-up, stable phase and decay.

    Args:
        optimizer: Its groups may have different peaks.
        warm_up: Updates of the warm-up, at least 1.
        stable: Updates at the peak, at least 1.
        decay: Updates of the decay, at least 1.
        done: Updates that were made before this call.

    Returns:
        A scheduler whose step() follows each update.
    """
    ### BEGIN SOLUTION
    updates = warm_up + stable + decay

    def factor(update: int) -> float:
        if update < warm_up:
            return update / warm_up
        return max(0.0, min(1.0, (updates - update) / decay))

    return LambdaLR(optimizer, factor, last_epoch=done - 1)
    ### END SOLUTION


# %%
def rates_of(lr, plan, done=0):
    group = {"params": torch.nn.Linear(1, 1).parameters(), "lr": lr, "initial_lr": 0.1}
    optimizer = torch.optim.SGD([group])
    scheduler = make_wsd(optimizer, *plan, done)
    rates = []
    for _ in range(done, sum(plan)):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return [round(rate, 3) for rate in rates]


def show_resumed():
    print("one piece:                 ", rates_of(0.1, (4, 6, 5)))
    print("resumed at 12, and extended:", rates_of(0.06, (4, 12, 5), done=12))


look(show_resumed)

# %% check="check_wsd_histories" points=3
check_wsd_histories(make_wsd)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which number does a PyTorch scheduler count, and what does it do in its constructor?<br>
# Then: read the documentation of `last_epoch`. It is the update *before* the one that comes next.
# </details>

# %% [markdown]
# ## Forms: one step per update, three times
#
# | | raw PyTorch | Accelerate | Trainer |
# |---|---|---|---|
# | when it steps | where you write it | a *prepared* scheduler steps when the optimizer does | once per update |
# | length | you count updates | you count updates | counted for you |
# | warm-up | a count | a count | `warmup_steps`: a count, or a share below 1, rounded up |
# | clipping | once per group | `clip_grad_norm_`, if `sync_gradients` | `max_grad_norm`, 1.0 by default |
# | default schedule | none | none | linear, to 0 |

# %% [markdown]
# Two traps. `warmup_steps=1.0` is a count of one update, not 100 % of the run. (It replaces `warmup_ratio`, which
# transformers 5 rejects.) And on several processes, a prepared scheduler makes **one step per process** at each update,
# unless you set `split_batches=True`: every process sees a part of the batches, and Accelerate assumes that you counted
# the batches of all of them. The cell makes 6 updates with a linear schedule of length 6, on one process and on two.

# %%
from grader import run_ranks


def rates_on_a_rank(rank, world_size):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.6)
    optimizer, scheduler = accelerator.prepare(optimizer, get_scheduler("linear", optimizer, 0, 6))
    rates = []
    for _ in range(6):
        rates.append(round(optimizer.param_groups[0]["lr"], 2))
        optimizer.step()
        scheduler.step()
    return rates


for world_size in (1, 2):
    print(f"{world_size} processes: rates {run_ranks(rates_on_a_rank, world_size).returned[0]}")

# %% [markdown]
# On two processes the rate is 0 after half of the run. There are two remedies: pass
# `updates * accelerator.num_processes` as the schedule's length, and scale the warm-up likewise; or do not prepare the
# scheduler, and step it when `accelerator.sync_gradients` is true.
#
# The next run has 36 sentence pairs in 18 micro-batches, 3 for each of 6 updates. `accepts_loss_kwargs = False` makes
# the Trainer divide the model's loss itself (lesson 02), so that the forms can be equal. First comes the raw loop.

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, plain_trainer_arguments, tokenize_pairs

same_run = plain_trainer_arguments(device)
pairs = tokenize_pairs(make_sentence_pairs(pairs=36), make_tokenizer())


def make_model():
    model = make_pair_classifier().to(device)
    model.accepts_loss_kwargs = False
    return model


# %% tags=["given"]
def train_raw(model, dataset, rows, k, learning_rate, warm_up, max_norm):
    batches = list(DataLoader(dataset, batch_size=rows))
    updates = len(batches) // k
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
    rates = []
    for start in range(0, len(batches), k):
        for batch in batches[start : start + k]:
            (model(**{name: values.to(device) for name, values in batch.items()}).loss / k).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return rates


# %%
reference, start = make_model(), make_model()
print("rates:", [round(rate, 4) for rate in train_raw(reference, pairs, 2, 3, 0.1, 0.25, 0.5)])

# %% [markdown]
# **Exercise.** Train one model with Accelerate and one with the Trainer, so that each equals `train_raw`.
#
# *Contract.*
# - Run one epoch in order, with micro-batches of `rows` rows and `k` of them per update; every group is full.
# - Use SGD and a cosine schedule with its peak at `learning_rate`; `warm_up` is a fraction of the updates, rounded up;
#   gradients are clipped to `max_norm`.
# - With Accelerate, write a loop inside `accelerator.accumulate`. With the Trainer, call `Trainer.train`; `same_run`
#   holds the other arguments, and defaults that you replace: `same_run | {...}`.
#
# The checks compare the rate of every update, and the weights at the end, in two settings.

# %% tags=["given"]
from grader import check_schedule_accelerate, check_schedule_trainer


# %% exercise="schedule_with_accelerate"
def schedule_with_accelerate(
    model, dataset, rows: int, k: int, learning_rate: float, warm_up: float, max_norm: float
) -> None:
    """Train one epoch with Accelerate, equal to train_raw.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of a micro-batch.
        k: Micro-batches for one update.
        learning_rate: The peak.
        warm_up: Share of the updates that the warm-up takes.
        max_norm: Largest norm of an update's gradient.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    updates = len(loader) // k
    scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="schedule_with_trainer"
def schedule_with_trainer(
    model, dataset, rows: int, k: int, learning_rate: float, warm_up: float, max_norm: float
) -> None:
    """Train one epoch with the Trainer, equal to train_raw.

    Args:
        model: Returns an output with .loss; has accepts_loss_kwargs = False.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of a micro-batch.
        k: Micro-batches for one update.
        learning_rate: The peak.
        warm_up: Share of the updates that the warm-up takes.
        max_norm: Largest norm of an update's gradient.
    """
    ### BEGIN SOLUTION
    run = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}
    run |= {"learning_rate": learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": warm_up}
    run |= {"max_grad_norm": max_norm}
    Trainer(model, TrainingArguments(**run), train_dataset=dataset).train()
    ### END SOLUTION


# %%
from grader import measure_weight_distance


def report_distances():
    for train in (schedule_with_accelerate, schedule_with_trainer):
        model = make_model()
        train(model, pairs, 2, 3, 0.1, 0.25, 0.5)
        distance = measure_weight_distance(model, reference, start)
        print(f"{train.__name__:<24} ends {distance:.1%} away from the raw loop")


look(report_distances)

# %% check="check_schedule_accelerate" points=2
check_schedule_accelerate(schedule_with_accelerate)

# %% check="check_schedule_trainer" points=2
check_schedule_trainer(schedule_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: print the rate before each update. Does it change when no update is made?<br>
# Then: of Accelerate's objects, which ones have to know that a micro-batch made no update? Of the Trainer's arguments,
# which ones replace a value that `same_run` already holds?
# </details>

# %% [markdown]
# **The price.** A schedule holds no tensors, and clipping holds one norm per parameter tensor. What do they cost in
# time and memory, compared with an update of AdamW? The two updates are timed alternately; a difference within the
# printed spread is noise.

# %%
from grader import format_bytes, measure_peak_memory, measure_step_time


def make_update(is_clipped: bool) -> dict:
    model = make_chain(8, 256, 1024).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    scheduler = LambdaLR(optimizer, lambda update: 1.0)
    rows = torch.randn(64, 256, device=device)

    def step():
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        if is_clipped:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if is_clipped:
            scheduler.step()

    step.__name__ = "clipped, scheduled" if is_clipped else "plain"
    return {"step": step, "model": model, "optimizer": optimizer, "inputs": rows}


plain, clipped = make_update(False), make_update(True)
for name, update in {"plain": plain, "clipped, scheduled": clipped}.items():
    print(f"{name:<20} peak {format_bytes(measure_peak_memory(**update).peak_bytes)}")
print(measure_step_time(plain["step"], clipped["step"], run_count=5, warm_up_count=1))

# %% [markdown]
# - **Use it when** a run is longer than a few hundred updates: a warm-up for Adam and for large batches, a decay at the
#   end.
# - **Do not** choose a schedule with a fixed end when you do not know the end: take WSD or the inverse square root.
# - **Combine with** accumulation (count updates), clipping (once per update) and resuming (save the count, lesson 24).

# %% [markdown]
# Two related terms. **Linear scaling** multiplies the learning rate by k when the batch grows by k, with a warm-up; for
# Adam, the square root of k is the common choice. **muP** (maximal update parametrization) scales the initial weights
# and the learning rate of each matrix with its width, so that a rate tuned on a narrow model also holds for a wide one.

# %% [markdown] tags=["further"]
# ## Further: how large a batch is worth it?
#
# A gradient is a mean over rows: signal plus noise. Let `G` be the gradient over all data, and `S` the sum, over all
# its elements, of the variance of *one row's* gradient (the trace of its covariance). For a batch of `B` rows, the
# expected squared length of the gradient `g_B` is
#
# `E |g_B|² = |G|² + S / B`
#
# The **gradient noise scale** is `S / |G|²`, in rows. The gradient of a much smaller batch is mostly noise, so doubling
# the batch nearly halves the number of updates. With a much larger batch, doubling it buys almost nothing. The noise
# scale is therefore also called the *critical batch size*.

# %% [markdown]
# You have the gradients of `m` micro-batches anyway, and their mean is the gradient of a batch `m` times as large. That
# gives two equations for the two unknowns.
#
# **Exercise.** Estimate the noise scale from the gradients of micro-batches.
#
# *Contract.*
# - `gradients` has the shape [micro-batches, elements]; each row of it is the mean gradient over `rows` rows.
# - Use `|g|²` averaged over the micro-batches, and `|g|²` of their mean, to solve for both unknowns.
# - Return the noise scale in rows, unrounded, as a number or a tensor of one element.

# %% tags=["given"]
from grader import check_noise_scale


# %% exercise="gradient_noise_scale"
def gradient_noise_scale(gradients: torch.Tensor, rows: int) -> float:
    """Noise scale of a gradient.

    Args:
        gradients: Gradients of micro-batches, [micro-batches, elements].
        rows: Rows of each micro-batch.

    Returns:
        S / |G|², in rows.
    """
    ### BEGIN SOLUTION
    batch = rows * len(gradients)
    small = gradients.square().sum(dim=1).mean()
    big = gradients.mean(dim=0).square().sum()
    signal = (batch * big - rows * small) / (batch - rows)
    noise = (small - big) / (1 / rows - 1 / batch)
    return (noise / signal).item()
    ### END SOLUTION


# %%
from grader import make_word_batches, make_word_sorter


def gradient_of(model, texts, labels):
    model.zero_grad()
    model(texts, labels).backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def show_noise_scales():
    model = make_word_sorter().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for update, batch in enumerate(make_word_batches(61, rows=512)):
        texts, labels = (values.to(device) for values in batch)
        if update % 20 == 0:
            parts = zip(texts.split(16), labels.split(16), strict=True)
            gradients = torch.stack([gradient_of(model, *part) for part in parts])
            print(f"update {update:>2}: noise scale {gradient_noise_scale(gradients, 16):>7,.0f} rows")
        gradient_of(model, texts, labels)
        optimizer.step()


look(show_noise_scales)

# %% check="check_noise_scale" points=1
check_noise_scale(gradient_noise_scale)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write the equation once for `rows` rows and once for all rows, then subtract.<br>
# Then: why is the squared length of the mean gradient still too large for `|G|²`?
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>What does a schedule count?</summary>
# Updates: not micro-batches, rows or epochs. A scheduler that Accelerate has prepared steps once per update and
# process.
# </details>
# <details><summary>Where does clipping belong when gradients are accumulated?</summary>
# After the last backward pass of a group and before the update, once.
# </details>
# <details><summary>Why does a resumed schedule need `initial_lr`?</summary>
# The `lr` in a checkpoint is already scaled. Taking it for the peak would scale it twice.
# </details>
#
# **Takeaway: count updates; these six schedules depend on nothing else.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 10, where time goes.

# %% [markdown]
# **Sources**
# - [Attention Is All You Need][attention]: the inverse square root with warm-up.
# - [SGDR][sgdr]: the cosine. [MiniCPM][minicpm]: WSD.
# - *DL Training: An in-depth discussion*, an essay: the definitions that the first explanation corrects.
# - [An Empirical Model of Large-Batch Training][noise]: the noise scale and its estimate from two batch sizes.
# - [Accelerate, AcceleratedScheduler][scheduler]: one step per process.
# - [Tensor Programs V][mup]: muP.
#
# [attention]: https://arxiv.org/abs/1706.03762
# [sgdr]: https://arxiv.org/abs/1608.03983
# [minicpm]: https://arxiv.org/abs/2404.06395
# [noise]: https://arxiv.org/abs/1812.06162
# [scheduler]: https://huggingface.co/docs/accelerate/package_reference/torch_wrappers
# [mup]: https://arxiv.org/abs/2203.03466
