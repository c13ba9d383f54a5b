# %% [markdown]
# # 5. Mixed precision
#
# You train in 16 bits without losing small gradients or overflowing on large ones, and you measure when that saves
# memory.
#
# 65 min, and 45 min for Further (estimated) · CPU is enough · after lessons 02 to 04

# %% [markdown] objectives="1; 2; 3 4 5"
# **You will be able to**
# - predict the loss scale after any history of overflows;
# - complete a dynamic loss scaler that equals PyTorch's, update by update;
# - write an fp16 update that unscales, clips and skips, in this order, and bf16 in Accelerate and the Trainer.

# %% tags=["given"]
import torch
import torch.nn.functional as F

from grader import (
    check_predicted_scale,
    device_name,
    draw_curves,
    lesson_autocast_dtype,
    lesson_device,
    look,
    make_chain,
)

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}; autocast in {lesson_autocast_dtype()}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 04: what are fp16's largest number and its smallest above zero?</summary>
# 65,504 and 2**-24, about 6e-8. Numbers that round to more become inf; those at or below half of the smallest become 0.
# </details>
# <details><summary>Lesson 02: what is the loss of a micro-batch divided by?</summary>
# The number of micro-batches in its own group.
# </details>

# %% [markdown]
# **The problem.** The model is a chain of 10 blocks. Most of its gradients are smaller than 2**-24. Float32 represents
# them like any other number, but fp16 rounds those that are at most half as large to zero.
#
# How many gradients are left when you train in fp16? The next cell counts the zeros. Then it multiplies the loss by a
# **scale** before `backward()`, which multiplies every gradient by the same number, and counts again.

# %% tags=["given"]
torch.manual_seed(0)
deep = make_chain(10, 64, 256).to(device)
inputs, targets = torch.randn(64, 64, device=device), torch.randn(64, 64, device=device)  # [rows, width] each


def scaled_gradient(model, dtype: torch.dtype, scale: float) -> torch.Tensor:
    """All gradients of scale times the loss in one vector; the forward runs under autocast."""
    model.zero_grad()
    with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
        loss = F.mse_loss(model(inputs), targets)
    (scale * loss).backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


# %%
for dtype, exponents in ((torch.float16, (0, 8, 12, 16, 26)), (torch.bfloat16, (0,))):
    for exponent in exponents:
        gradient = scaled_gradient(deep, dtype, 2.0**exponent)
        zeros, infinite = (gradient == 0).float().mean(), (~gradient.isfinite()).float().mean()
        print(f"{dtype!s:<15} scale 2**{exponent:<2}  zeros {zeros:5.1%}   inf or NaN {infinite:5.1%}")

# %% [markdown]
# More than half of the gradient is zero, and no error is raised: a number that is too small becomes 0.
#
# A scale of `2**16` brings nearly all of it back. A scale of `2**26` is too large: numbers that round to more than
# 65,504 become inf, and what is computed from them is inf or NaN. In bf16, no scale is needed at all, because it has
# the exponents of float32; it pays with precision.
#
# The picture sorts the gradients by size. Left of 2**-24, fp16 has no numbers; what is just below is rounded up to it.
# The scale shifts the curve to the right, by 16 powers of two.


# %%
def share_by_exponent(gradient: torch.Tensor) -> list[float]:
    """Percent of all numbers that lie in each bin of four powers of two; zeros lie in none."""
    exponents = gradient[gradient.isfinite() & (gradient != 0)].abs().log2().floor()
    return [float(((exponents >= low) & (exponents < low + 4)).sum() / gradient.numel()) * 100 for low in bins]


bins = range(-44, 16, 4)
curves = {
    "float32, scale 1": share_by_exponent(scaled_gradient(deep, torch.float32, 1.0)),
    "fp16, scale 1": share_by_exponent(scaled_gradient(deep, torch.float16, 1.0)),
    "fp16, scale 2**16": share_by_exponent(scaled_gradient(deep, torch.float16, 2.0**16)),
}
title = "Gradients by size, chain of 10 blocks"
draw_curves(bins, curves, title=title, x_label="from 2 to the power of", y_label="% of all gradients")

# %% [markdown]
# ## Predict: the scale after a history
#
# Which scale is right? That changes during training, so a **dynamic loss scaler** searches for it all the time. It
# keeps the scale as large as it can, by three rules:
#
# 1. If a gradient is inf or NaN, **skip** this update and halve the scale (*back-off*).
# 2. After `growth_interval` good updates **in a row**, double the scale (*growth*).
# 3. After either, the count of good updates starts again at 0.
#
# PyTorch starts at 65,536 and doubles after 2,000 good updates.

# %% [markdown]
# **Exercise.** Predict the scale after a history.
#
# *Contract.*
# - `found_inf` has one truth value for each update, in order: whether a gradient was inf or NaN.
# - Return the scale that the **next** update will use.
#
# The check asks for the scale after every update of four histories. One of them has infinities at updates 2 and 9,
# counted from 0, and a growth interval of 4.


# %% exercise="predict_scale"
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    """Loss scale after a history of updates.

    Args:
        start_scale: Scale of the first update.
        growth_interval: Good updates in a row after which the scale doubles.
        found_inf: For each update, whether a gradient was inf or NaN; may be empty.

    Returns:
        The scale after the last update.
    """
    ### BEGIN SOLUTION
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        good_updates = 0 if is_inf else good_updates + 1
        if is_inf:
            scale /= 2
        elif good_updates == growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
    ### END SOLUTION


# %%
history = [update in (2, 9) for update in range(14)]
look(predict_scale, 65536.0, 4, history)

# %% check="check_predicted_scale" points=2
check_predicted_scale(predict_scale)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write the history as a row of letters, g and i, and the count of good updates below each letter.<br>
# Then: two things are remembered from one update to the next. What does each letter do to both?
# </details>

# %% [markdown]
# **Run.** The next cell puts PyTorch's own scaler, `torch.amp.GradScaler`, through the same history. A scaler is
# created **for a device**. `scale` multiplies the loss; `step` divides the gradients, looks for inf, and steps or
# skips; `update` adjusts the scale.

# %%
weight = torch.nn.Parameter(torch.ones(3, device=device))
sgd = torch.optim.SGD([weight], lr=0.1)
growth_interval = 4
scaler = torch.amp.GradScaler(device.type, init_scale=65536.0, growth_interval=growth_interval)
for update, is_inf in enumerate(history):
    sgd.zero_grad()
    loss = weight.sum() * (float("inf") if is_inf else 1.0)
    scaler.scale(loss).backward()
    scaler.step(sgd)
    scaler.update()
    predicted = look(predict_scale, 65536.0, growth_interval, history[: update + 1]) if update == 13 else None
    note = f"   predicted {predicted:,.0f}" if predicted else ""
    print(f"update {update:>2}  {'inf ' if is_inf else 'good'}  scale {scaler.get_scale():>7,.0f}{note}")

# %% [markdown]
# **Investigate.** After the inf at update 2, the scale is 32,768, and the count is 0. Updates 3, 4, 5 and 6 are good,
# so the scale doubles after update 6. A count that continued through the inf would double it after update 4.
#
# In words: *the scale climbs until it overflows, then goes one step down.* An occasional overflow is normal and costs
# one update.
#
# **Names.** *Loss scaling* is static or *dynamic*. PyTorch's scaler is `GradScaler`, and *AMP* is autocast with a
# scaler. A gradient that becomes 0 *underflows*; one that becomes inf *overflows*.

# %% [markdown]
# **Modify.** Set `growth_interval = 2` in the cell with the scaler. Before you run it: where does the scale end,
# higher, lower or at the same place?
#
# <details><summary>Answer</summary>
# Higher, at 1,048,576. There are 2, 6 and 4 good updates in a row, which make `1 + 3 + 2` doublings. After 2 halvings,
# four doublings remain.
# </details>

# %% [markdown]
# ## Complete: a dynamic loss scaler
#
# Here is a worked example first: a **static** scale, by hand. It adds two operations to a plain update: it multiplies
# the loss, and it divides the gradients before the step. The division is exact, because the scale is a power of two.

# %% tags=["given"]
from types import SimpleNamespace

from grader import check_scaled_updates


# %%
def static_update(scale, optimizer):
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for parameter in parameters:
        parameter.grad /= scale
    optimizer.step()


plain, scaled = make_chain(2, 8, 32).to(device), make_chain(2, 8, 32).to(device)
for model, scale in ((plain, 1.0), (scaled, 2.0**10)):
    loss = model(torch.ones(4, 8, device=device)).square().mean()
    (scale * loss).backward()
    static_update(scale, torch.optim.SGD(model.parameters(), lr=0.1))
same = all(torch.equal(a, b) for a, b in zip(plain.parameters(), scaled.parameters(), strict=True))
print(f"same weights as without a scale: {same}")

# %% [markdown]
# **Exercise.** Complete the dynamic scaler. It is called after `backward()`, when `.grad` holds the **scaled**
# gradients.
#
# *Contract.*
# - `scaler` has three attributes: `scale`, `growth_interval`, and `good_updates`, the count.
# - If all gradients are finite, divide them by the scale and step once. Otherwise do not step: a NaN that reaches a
#   weight stays there.
# - Then adjust `scaler` by the three rules. The last lines of the function already double the scale.
#
# The check compares gradients at each step, and scale and weights after every update, with `torch.amp.GradScaler`
# over whole histories. You may not call it. The optimizer has momentum.


# %% exercise="scaled_update"
def scaled_update(scaler, optimizer) -> None:
    """Unscale the gradients and update the weights, or skip the update; then adjust the scale.

    Args:
        scaler: Has `scale`, `growth_interval` and `good_updates`; is changed in place.
        optimizer: Its parameters hold scaled gradients; some may have none.
    """
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    ### BEGIN SOLUTION
    if is_finite:
        for parameter in parameters:
            parameter.grad /= scaler.scale
        optimizer.step()
        scaler.good_updates += 1
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
    ### END SOLUTION
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0


# %%
def show_scales():
    own = SimpleNamespace(scale=65536.0, growth_interval=2, good_updates=0)
    fresh = make_chain(10, 64, 256).to(device)
    optimizer = torch.optim.SGD(fresh.parameters(), lr=0.01)
    scales = []
    for update in range(8):
        scaled_gradient(fresh, torch.float16, own.scale * (1e6 if update == 5 else 1.0))
        scaled_update(own, optimizer)
        scales.append(own.scale)
    return scales


look(show_scales)

# %% check="check_scaled_updates" points=3
check_scaled_updates(scaled_update)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: there are two branches. In which of them may a weight change?<br>
# Then: in the branch without a step, which two attributes of the scaler change? In the other one, which line comes
# before the step, and for which parameters?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why skip, instead of setting inf to 0 and stepping?</summary>
# The other gradients of that backward pass may be wrong too, and momentum, decay and Adam's moments would move
# the weights even for a gradient of 0.
# </details>
#
# **bf16 needs no scaler.** It underflows about where float32 does. `GradScaler(device.type, enabled=False)` lets one
# loop serve both formats: its `scale` returns the loss as it is, and its `step` steps.

# %% [markdown]
# ## What autocast does
#
# `torch.autocast` changes no weight. Inside its region, each operator is looked up in a list: matrix products cast
# their inputs to 16 bits, operators that need range or precision cast theirs to float32, and all others take their
# inputs as they are. The next cell shows the format of each result.

# %%
x = torch.randn(8, 8, device=device)  # float32
layer, norm = torch.nn.Linear(8, 8).to(device), torch.nn.LayerNorm(8).to(device)
operators = {
    "x @ x": lambda: x @ x,
    "Linear(x)": lambda: layer(x),
    "GELU(Linear(x))": lambda: F.gelu(layer(x)),
    "Linear(x) + x": lambda: layer(x) + x,
    "softmax(Linear(x))": lambda: layer(x).softmax(dim=-1),
    "LayerNorm(Linear(x))": lambda: norm(layer(x)),
    "mse_loss(Linear(x), x)": lambda: F.mse_loss(layer(x), x),
    "exp(Linear(x))": lambda: layer(x).exp(),
}
for name, run in operators.items():
    with torch.autocast(device.type, lesson_autocast_dtype()):
        print(f"{name:<23} {str(run().dtype).removeprefix('torch.')}")
print(f"the weight of Linear    {str(layer.weight.dtype).removeprefix('torch.')}")

# %% [markdown]
# The lists differ by device. On a CPU, exp, softmax and layer norm stay in 16 bits; on CUDA they return float32. The
# loss is float32 on both. A 16-bit number plus a float32 one is float32: a residual stream that begins in float32
# stays there.
#
# Two rules for the region:
#
# - It contains the **forward pass and the loss**. The backward pass stays outside: each of its operators runs in the
#   format of its forward operator.
# - The weights stay float32. Their 16-bit copies are made once per region, so a weight that is used twice is cast
#   once.

# %% [markdown]
# ## Write: unscale, clip, skip
#
# Clipping limits the norm of the gradient, but of which gradient? The next cell has a true gradient of norm 3, a
# scale of 65,536, and a maximum norm of 1.

# %% tags=["given"]
from grader import check_clipped_updates

# %%
for order in ("clip, then unscale", "unscale, then clip"):
    weight = torch.nn.Parameter(torch.ones(9, device=device))
    sgd = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler(device.type, init_scale=65536.0)
    scaler.scale(weight.sum()).backward()
    if order.startswith("unscale"):
        scaler.unscale_(sgd)
    norm = torch.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(sgd)  # unscales, unless that is done
    scaler.update()
    print(f"{order}: norm {norm:>9,.0f}, the weights move by {(1 - weight.detach()).norm():.2g}")

# %% [markdown]
# The first order clips the scaled gradient from a norm of 196,608 to 1, and then divides it by 65,536, so the step is
# 65,536 times too small. No warning appears: the model seems not to learn.
#
# The right order is therefore `unscale_`, clip, `step`, `update`. `unscale_` divides the gradients and records
# whether one was inf, so `step` does not divide again. Call each of the four **once per update**, no matter how many
# backward passes came before.

# %% [markdown]
# **Exercise.** Write one update in fp16 from a **group of micro-batches**, as in lesson 02.
#
# *Contract.*
# - Call `model(inputs)` under autocast in `torch.float16`, for the device of the inputs; the loss may be inside, too.
# - Run one micro-batch forward and backward at a time, through the given `scaler`. An earlier run may have left
#   gradients.
# - Step on the gradient of the group's mean loss, unscaled, then clipped to `max_norm`. `scaler.step` skips a step with
#   inf or NaN. Update the scaler once per group, also after a skip.
# - Return the norm **before** clipping; after a skip, inf or NaN.
#
# The check compares every update, in runs with overflows and with groups of unequal size.


# %% exercise="train_group"
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    """Make one fp16 update from a group of equal micro-batches.

    Args:
        model: Called on inputs [rows, features]; its weights are float32.
        loss_function: Takes (outputs, targets) and returns the mean over the rows.
        optimizer: Holds the parameters of the model.
        scaler: A torch.amp.GradScaler for the device of the model; is kept from one group to the next.
        micro_batches: (inputs, targets) pairs with equal numbers of rows.
        max_norm: The largest norm that the gradient keeps.

    Returns:
        The norm of the unscaled gradient, before clipping.
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
    ### END SOLUTION


# %%
def show_norms():
    small = make_chain(1, 8, 32).to(device)
    optimizer = torch.optim.SGD(small.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler(device.type, init_scale=1024.0, growth_interval=2)
    for size in (1.0, 10.0, 1e6, 10.0, 1.0):
        group = [(torch.randn(4, 8, device=device), size * torch.ones(4, 8, device=device)) for _ in range(2)]
        norm = train_group(small, F.mse_loss, optimizer, scaler, group, 1.0)
        print(f"targets of {size:>11,.0f}: norm {norm:.3g}, scale after it {scaler.get_scale():,.0f}")


look(show_norms)

# %% check="check_clipped_updates" points=4
check_clipped_updates(train_group)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: sort the calls by how often they occur: once for each micro-batch, or once for each group.<br>
# Then: what ends the autocast region, and which of the scaler's calls is inside the loop?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does unscale_ come once for a whole group?</summary>
# backward() adds up scaled gradients, so their sum carries the scale exactly once.
# </details>
#
# **Modify.** In the cell that defines `show_norms`, change `init_scale` to `2.0**40`. Before you run it: what is
# printed for each group?
#
# <details><summary>Answer</summary>
# NaN or inf, and a scale that is halved each time: five groups are not enough to bring it down. This is why logs of
# training in fp16 begin with a few skipped updates.
# </details>

# %% [markdown]
# ## When it saves memory, and when not
#
# Autocast halves the **activations** that are stored in 16 bits. Gradients, optimizer state and weights stay float32.
# It also adds 16-bit copies of the weights. The region drops them at its end, but the backward pass needs them, so
# they are held until it is done.
#
# Before you run the next cell: for a batch of 32 rows, does the peak rise, fall or stay the same? A forecast with the
# CPU's operators equals the measurement to the byte (lesson 01), and takes no time for 4,096 rows.

# %%
from grader import MIB, draw_bars, forecast_peak_memory, measure_peak_memory


def make_update(batch: int, dtype: torch.dtype | None, place: torch.device | str = "cpu") -> dict:
    """One AdamW update of a chain, under autocast where a dtype is given."""
    model = make_chain(16, 256, 1024).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    rows = torch.randn(batch, 256, device=place)  # [batch, width]

    def step():
        optimizer.zero_grad()
        with torch.autocast(rows.device.type, dtype, enabled=dtype is not None):
            loss = model(rows).square().mean()
        loss.backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": rows}


# %%
for batch in (32, 512, 4096):
    peaks = [
        forecast_peak_memory(lambda batch=batch, dtype=dtype: make_update(batch, dtype), operators="cpu").peak_bytes
        for dtype in (None, torch.bfloat16)
    ]
    print(f"{batch:>5} rows: float32 {peaks[0] / MIB:>6.1f} MiB, autocast {peaks[1] / MIB:>6.1f} MiB")

# %%
formats = {"float32": None, "autocast": lesson_autocast_dtype()}
measured = {name: measure_peak_memory(**make_update(512, dtype, device)) for name, dtype in formats.items()}
draw_bars(measured, title="Peak of one update, batch of 512")

# %% [markdown]
# With 32 rows nothing is saved, because the peak is in the update, where no activation is held. With 512 rows the
# activations fall from 72 MiB to 36 MiB, and 16 MiB of weight copies are added: half of the 32 MiB of parameters. With
# 4,096 rows the activations are so large that halving them is nearly all that counts.
#
# In words, **for this chain**: *autocast saves half of the activations, less half of the parameters.* The chain has
# only matrix products and GELU, so all of its activations are stored in 16 bits. The section on the price shows a model
# that saves half as much.

# %% [markdown]
# <details><summary>Explain in one sentence: when does autocast cost memory?</summary>
# With few activations, as in batch 1 with checkpointing: the 16-bit copies of the weights are then larger than what
# the activations save.
# </details>

# %% [markdown]
# **Bytes per parameter.** Guides give 18 bytes for mixed precision. That holds for only one kind:
#
# | | `torch.autocast` | 16-bit model with master weights |
# |---|---|---|
# | weights | 4 | 2, and 4 for the master copy |
# | gradients | 4 | 2, or 4 |
# | AdamW | 8 | 8 |
# | 16-bit copies | 2, from forward to backward | – |
# | together | 16, and 2 for a while | 16 or 18 |
#
# *Master weights* are the float32 weights through which a 16-bit model is updated (NVIDIA's Apex O2, DeepSpeed). An
# update of 1e-4 of a weight is below bf16's precision, so adding it to a bf16 weight has no effect. With autocast,
# the weights **are** float32.

# %% [markdown]
# ## Three forms, one run
#
# Accelerate and the Trainer take one argument each. They enter autocast inside the model's forward pass, and own
# the scaler if there is one.
#
# | raw PyTorch | Accelerate | Trainer |
# |---|---|---|
# | `torch.autocast(place, torch.bfloat16)` | `Accelerator(mixed_precision="bf16")` | `bf16=True` |
# | model, optimizer, loader as they are | `accelerator.prepare(...)` returns all three | `Trainer(model, ...)` |
# | `loss.backward()` | `accelerator.backward(loss)` | `trainer.train()` |
# | fp16: a `GradScaler` of your own | fp16: `backward` scales, `step` skips | `fp16=True` |

# %% tags=["given"]
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, plain_trainer_arguments, tokenize_pairs

same_run = plain_trainer_arguments(device)  # SGD, constant learning rate, no clipping, rows in order, one epoch
pairs = tokenize_pairs(make_sentence_pairs(pairs=96), make_tokenizer())


def new_accelerator(**arguments) -> Accelerator:
    """An Accelerator of any precision: Accelerate keeps the first one's for the whole kernel unless it is reset."""
    AcceleratorState._reset_state(reset_partial_state=True)  # the Trainer calls it too, before it makes its own
    return Accelerator(**arguments)


def train_raw(model, dataset, rows: int, learning_rate: float, dtype: torch.dtype | None) -> None:
    """The reference: one update for each batch, in order, under autocast where a dtype is given."""
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype, enabled=dtype is not None):
            loss = model(**{name: values.to(device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()


# %% [markdown]
# There is a **trap**. The next cell asks for fp16 on a CPU and prints what you get.

# %%
accelerator = new_accelerator(mixed_precision="fp16")
accelerator.prepare(torch.nn.Linear(2, 2))
print(f"asked for {accelerator.mixed_precision} on {accelerator.device}: scaler {accelerator.scaler}")
print(f"autocast in the forward: {accelerator.native_amp}")

# %% [markdown]
# On a CPU there is no scaler, no autocast and no warning: the run labelled fp16 is a float32 run. The Trainer does
# the same. On CUDA, both the scaler and autocast are active.
#
# A second trap costs memory. `prepare` casts what the model returns to **float32**. A classifier returns two numbers
# per row. A language model returns logits [rows, time, vocabulary]: at 4 x 2,048 x 128,000, a copy of 3.9 GiB. Where
# memory is short, compute the loss inside the model and return only the loss.

# %% [markdown]
# **Exercise.** Train a classifier in **bf16 on every device**, twice: in a loop with Accelerate, and with the Trainer.
#
# *Contract.*
# - Use every row once, in order, `rows` at a time; the last batch may be smaller. Use SGD at `learning_rate`.
# - Accelerate: pass the precision to `new_accelerator`, and prepare model, optimizer and loader.
# - Trainer: `same_run` holds the other arguments.
# - Return nothing, and keep nothing.
#
# Each form has its own check, which compares the gradients and weights with those of `train_raw` in `torch.bfloat16`.
# Every forward pass must run under autocast, and the peak may be at most 85 % of that of the float32 run.

# %% tags=["given"]
from grader import check_autocast_accelerate, check_autocast_trainer


# %% exercise="autocast_with_accelerate"
def autocast_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    """Train in bf16 with Accelerate, equal to train_raw.

    Args:
        model: On the lesson's device; returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of each update; the last update may have fewer.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    accelerator = new_accelerator(mixed_precision="bf16")
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    ### END SOLUTION


# %% exercise="autocast_with_trainer"
def autocast_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    """Train in bf16 with the Trainer, equal to train_raw.

    Args:
        model: On the lesson's device; returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of each update; the last update may have fewer.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    ### END SOLUTION


# %% [markdown]
# **Look.** The next cell does one run of two updates in four ways. For each it prints the distance of the final weights
# from those of the raw bf16 loop, the peak of a whole run, and the time per update, which includes the form's own
# set-up.

# %%
import io
from contextlib import redirect_stdout
from functools import partial

from grader import format_bytes, measure_step_time, measure_weight_distance

start, raw_model = (make_pair_classifier().to(device) for _ in range(2))
train_raw(raw_model, pairs, 48, 0.01, torch.bfloat16)


def report_form(name: str, train) -> None:
    model = make_pair_classifier().to(device)
    with redirect_stdout(io.StringIO()):  # the Trainer prints
        train(model, pairs, 48, 0.01)
        distance = measure_weight_distance(model, raw_model, start)
        peak = measure_peak_memory(lambda: (train(model, pairs, 48, 0.01), model.zero_grad()), model=model)
        times = measure_step_time(lambda: train(model, pairs, 48, 0.01), run_count=2, warm_up_count=1)
    seconds = times.steps[0].median_seconds / 2
    print(f"{name:<14} {distance:6.1%} away   peak {format_bytes(peak.peak_bytes):>9}   {seconds:.3f} s an update")


report_form("plain float32", partial(train_raw, dtype=None))
report_form("raw bf16", partial(train_raw, dtype=torch.bfloat16))
look(report_form, "Accelerate", autocast_with_accelerate)
look(report_form, "Trainer", autocast_with_trainer)

# %% check="check_autocast_accelerate" points=2
check_autocast_accelerate(autocast_with_accelerate)

# %% check="check_autocast_trainer" points=2
check_autocast_trainer(autocast_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: one form is `prepare` and a loop with `accelerator.backward`, `optimizer.step` and `zero_grad`; the other one
# is `Trainer(...)` and `.train()`. Which argument asks each for bf16?<br>
# Then: print `accelerator.native_amp` and the dtype of the first layer's output, to see whether autocast is on.
# </details>

# %% [markdown]
# ## The price
#
# How much time autocast saves depends on the device. The gain comes from special units for 16-bit products, and from
# having half the bytes to move. Guides add that the casts cost almost nothing. Before you run the cell: is autocast
# faster on this device, and do casts take a larger part of a step with 8 rows or with 256?

# %%
float32_step, autocast_step = (make_update(256, dtype, device)["step"] for dtype in formats.values())
print(measure_step_time(float32_step, autocast_step, run_count=2, warm_up_count=1))

for batch in (8, 256):
    parts = make_update(batch, lesson_autocast_dtype(), device)

    weights = list(parts["model"].parameters())

    def cast(weights=weights):
        for weight in weights:  # forward: a 16-bit copy of each; backward: each gradient back
            weight.to(lesson_autocast_dtype()).float()

    share = measure_step_time(parts["step"], cast, run_count=3, warm_up_count=1).ratios[1]
    print(f"{batch:>3} rows: casts of weights and gradients take {share:.0%} of the step's time")

# %% [markdown]
# The second line ends with the factor. A CPU gains time only with instructions for 16-bit products; few have them for
# fp16, and the others lose time. Each step casts each weight once and each gradient back, whatever the number of rows,
# so their share is largest with few rows: below 5 % on two CPU cores, as small as the guides say.
#
# A published run on a V100 with BERT-large:
#
# | | samples per second | memory occupied |
# |---|---|---|
# | batch 4 | 8.86 | 14,949 MiB |
# | batch 4, fp16 | 18.64 | 13,939 MiB |
# | batch 1, accumulate 4, checkpointing | 5.99 | 6,775 MiB |
# | the same, fp16 | 10.09 | 7,275 MiB |
#
# fp16 is 2.1 and 1.7 times as fast. Memory falls in one case and **rises** in the other.

# %% [markdown]
# **At real scale.** The next cell forecasts two of these rows, with CUDA's operators emulated. The 1,343 MiB of
# CUDA's context are subtracted from the published figures. The run is from January 2022, when `zero_grad()` set
# gradients to 0 and **kept** them: a column adds those that the forecast does not hold at its peak. The cell takes
# about 7 seconds.

# %%
from grader import BERT_LARGE_ROWS, bert_large_recipe

large = {}
for name, fields in {"vanilla": {}, "fp16": {}}.items():
    peak = large[name] = forecast_peak_memory(bert_large_recipe(name, **fields))
    forecast_mib, kept_mib = peak.peak_bytes / MIB, (peak.parameter_bytes - peak.gradient_bytes) / MIB
    published_mib = BERT_LARGE_ROWS[name].less_context_mib
    kept = f"gradients kept {forecast_mib + kept_mib:>6,.0f} MiB"
    print(f"{name:<8} forecast {forecast_mib:>6,.0f} MiB   {kept}   published {published_mib:>6,} MiB")
by_sentence = (large["vanilla"].activation_bytes - large["vanilla"].parameter_bytes) / 2
saved = large["vanilla"].peak_bytes - large["fp16"].peak_bytes
print(f"saved at batch 4: {saved / MIB:,.0f} MiB; by the sentence on the chain {by_sentence / MIB:,.0f} MiB")
print("not forecast: allocator reserve and fragmentation")

# %% [markdown]
# Kept gradients are 1.2 of the 3.0 and 3.3 GiB that are missing. The rest is not explained here. It appears in the
# float32 row too, so it does not come from mixing formats.
#
# The sentence on the chain promises twice what is saved. On CUDA, softmax and LayerNorm return float32, and so do the
# sums of the residual stream. These tensors are stored in full, and the 16-bit copy that a product reads is stored **in
# addition**. The chain has no such tensors.

# %% [markdown]
# **Modify.** Add `"fp16_accumulation_checkpointing": {"accumulate": 2}` to the rows (5 seconds more). Are gradients
# missing at its peak, too?
#
# <details><summary>Answer</summary>
# No: with accumulation, the gradients of the first micro-batch are held at the peak, whether `zero_grad()` keeps them
# or not. Both columns print 5,768 MiB, 3 % below the published 5,932.
# </details>

# %% [markdown]
# - **Use it when** your device has units for 16-bit products: for time first, and for memory with large batches or long
#   rows. Take bf16 where there is hardware for it, and fp16 with a scaler on older GPUs (V100, T4).
# - **Do not when** the weights outweigh the activations and memory is the limit, or when your device computes 16-bit
#   products slowly: measure one step.
# - **Combine with** accumulation (scale each micro-batch, unscale once) and checkpointing (recomputation runs under
#   autocast again by itself).

# %% [markdown] tags=["further"]
# ## Further: true 16-bit training
#
# **True 16-bit training** keeps nothing in float32: weights, gradients and optimizer state are all 16 bits, which
# halves their memory. The next cell takes one AdamW step with a gradient of 0.

# %%
for dtype, eps in ((torch.float16, 1e-8), (torch.float16, 1e-4), (torch.bfloat16, 1e-8)):
    weight = torch.nn.Parameter(torch.ones(3, dtype=dtype, device=device))
    weight.grad = torch.zeros_like(weight)
    torch.optim.AdamW([weight], lr=1e-3, weight_decay=0.0, eps=eps, foreach=False).step()
    weight_after = weight.detach()[0].item()
    print(f"{dtype!s:<15} eps {eps:.0e}: a weight of 1 with a gradient of 0 becomes {weight_after}")

# %% [markdown]
# In fp16 an `eps` of 1e-8 becomes 0, and 0 / (0 + 0) is NaN. One gradient of 0 is enough, such as that of an
# embedding row that the batch does not use. The remedy is `eps=1e-4` or bf16. Small updates are also lost, as above.
#
# **Switches for float32 products.** On Ampere GPUs and newer, `torch.set_float32_matmul_precision("high")` lets float32
# matrix products round their inputs to tf32 (lesson 04). It is meant for products that autocast does not touch, and it
# saves no memory. In the Trainer, the switch is `tf32=True`. Both bf16 and tf32 need Ampere or newer to be fast. A T4
# is older, so use fp16 with a scaler there.

# %% [markdown]
# **fp16, and its scale history.** The raw loop has a scaler on every device. The two forms have one on CUDA only.
# There, the next cells print the scales of all three, so that you can compare them update by update.

# %%
from accelerate.utils import GradScalerKwargs
from transformers import TrainerCallback

few_pairs = pairs.select(range(64))
first_scale = {"init_scale": 2.0**22, "growth_interval": 2}  # it overflows and grows within eight updates


def raw_scales(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler(device.type, **first_scale)
    for batch in DataLoader(few_pairs, batch_size=8):
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = model(**{name: values.to(device) for name, values in batch.items()}).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        yield scaler.get_scale()


# %%
def accelerate_scales(model):
    accelerator = new_accelerator(mixed_precision="fp16", kwargs_handlers=[GradScalerKwargs(**first_scale)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(few_pairs, batch_size=8))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        yield accelerator.scaler.get_scale()


def trainer_scales(model):
    scales = []
    arguments = TrainingArguments(per_device_train_batch_size=8, learning_rate=0.01, fp16=True, **same_run)
    trainer = Trainer(model, arguments, train_dataset=few_pairs)
    trainer.accelerator.scaler = torch.amp.GradScaler(device.type, **first_scale)  # TrainingArguments has no field

    class KeepScales(TrainerCallback):
        def on_step_end(self, *_, **__):
            scales.append(trainer.accelerator.scaler.get_scale())

    trainer.add_callback(KeepScales())
    trainer.train()
    return scales


# %%
forms = {"raw": raw_scales}
if device.type == "cuda":
    forms |= {"Accelerate": accelerate_scales, "Trainer": trainer_scales}
for name, run in forms.items():
    scales = run(make_pair_classifier().to(device))
    print(f"{name:<10} {', '.join(f'2**{int(scale).bit_length() - 1}' for scale in scales)}")

# %% [markdown]
# ## Further: bug hunt
#
# This loop was published in a course on efficient training, for a machine without a GPU. It runs, and the loss falls.
#
# ```python
# scaler = torch.amp.GradScaler()
# for inputs, targets in batches:
#     with torch.autocast(device_type="cpu", dtype=torch.float16):
#         outputs = model(inputs, labels=targets)
#     scaler.scale(outputs.loss).backward()
#     scaler.step(optimizer)
#     scaler.update()
#     optimizer.zero_grad()
# ```
#
# What is the scale on a machine without a GPU? And in which format does the forward pass run on a machine with one?

# %% tags=["given"]
import warnings

from grader import check_fp16_on_its_device

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    published = torch.amp.GradScaler()
print(f"scaler = torch.amp.GradScaler(): enabled {published.is_enabled()}, scale {published.get_scale():,.0f}")
print(f"warnings: {len(caught)}")

# %% [markdown]
# <details><summary>What the loop does</summary>
# The scaler's default device is CUDA. Without a GPU it warns once and switches itself off, so every scale is 1, and the
# first layers get gradients of 0. With a GPU, autocast for the CPU leaves a forward pass on CUDA in float32.
# </details>

# %% [markdown]
# **Exercise.** Repair it for a model on **any** device.
#
# *Contract.*
# - Make one update for each micro-batch, in fp16, with loss scaling that is active on the model's device.
# - Call `model(inputs)`. Gradients are None when you begin. Return nothing.
# - Skip an update whose gradient exceeds fp16. Do not clip.
#
# The check compares layer by layer, on a deep chain whose first layers have gradients of about 1e-7. It also passes a
# model on a device that you do not have, and reads for which device you ask.


# %% exercise="train_in_fp16"
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    """Train in fp16 on the device of the model, one update for each micro-batch.

    Args:
        model: Called on inputs [rows, features]; on the CPU or on CUDA.
        loss_function: Takes (outputs, targets) and returns the mean over the rows.
        optimizer: Holds the parameters of the model.
        micro_batches: (inputs, targets) pairs on the device of the model.
    """
    ### BEGIN SOLUTION
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    ### END SOLUTION


# %%
def show_zeros():
    model = make_chain(10, 64, 256).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    report = "zeros in the first layer's gradient: {:.0%}"
    optimizer.register_step_pre_hook(lambda *_: print(report.format((model[0].weight.grad == 0).float().mean())))
    train_in_fp16(model, F.mse_loss, optimizer, [(inputs, targets)])


look(show_zeros)

# %% check="check_fp16_on_its_device" points=1
check_fp16_on_its_device(train_in_fp16)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: two objects in this loop are made for a device. Which ones?<br>
# Then: who knows the device that the model is on?
# </details>

# %% [markdown]
# ## Further: what is wrong with this run?
#
# For each update, a training script in fp16 logs the loss scale and the norm of the unscaled gradient. It also logs the
# first module with inf or NaN, if there is one, and the pass in which that appeared. You find `nan` in the log. There
# are three possible explanations:
#
# - `"overflow"`: the scaler tried too large a scale. The run is healthy.
# - `"collapse"`: the true gradients grow, and the scale falls as they do. Look at the learning rate or the data.
# - `"bug"`: a module computes inf or NaN, whatever the scale is.

# %% tags=["given"]
from grader import check_diagnosed_runs, recorded_runs

# %%
for number, log in enumerate(recorded_runs()):
    print(f"run {number}: {sum(bool(update.bad_pass) for update in log)} of {len(log)} updates skipped")
    for update in (0, 10, 20, 30, *range(38, 43), 55, 71):
        row = log[update]
        print(f"  {update:>2}  scale {row.scale:>9.3g}  norm {row.norm:>8.3g}  {row.bad_pass} {row.bad_module}")

# %% [markdown]
# **Exercise.** Diagnose a run from its log.
#
# *Contract.*
# - `log` has one entry for each update, in order, with `scale`, `norm`, `bad_pass` (`"forward"`, `"backward"` or empty)
#   and `bad_module`. `scale` is the one that the update ran with; `norm` is inf or NaN where it was skipped.
# - Every log has a bad update and a finite norm.
# - Return `"overflow"`, `"collapse"` or `"bug"`.
#
# The check asks about eight runs. A healthy run may start with a scale that is far too large, and may end at any
# update, even a skipped one.


# %% exercise="diagnose_run"
def diagnose_run(log: list) -> str:
    """What the log of an fp16 run shows.

    Args:
        log: For each update: scale, norm, bad_pass, bad_module.

    Returns:
        "overflow", "collapse" or "bug".
    """
    ### BEGIN SOLUTION
    if any(update.bad_pass == "forward" for update in log):
        return "bug"  # the loss is scaled after the forward pass
    if min(update.scale for update in log) >= 1:
        return "overflow"
    finite = [update.norm for update in log if update.norm < float("inf")]
    return "collapse" if finite[-1] > 65_504 else "bug"  # below a scale of 1, only a larger gradient overflows
    ### END SOLUTION


# %%
look(lambda: [diagnose_run(log) for log in recorded_runs()])

# %% check="check_diagnosed_runs" points=2
check_diagnosed_runs(diagnose_run)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which of the two passes can a loss scale reach?<br>
# Then: at a scale of 1/4, how large is a gradient that exceeds 65,504? Compare it with the last finite norms.
# </details>

# %% [markdown]
# ## Further: a job over its budget
#
# The model is a language model of 8 blocks, with rows of several hundred positions and a batch of 4 rows. One plain
# update holds about 100 MiB. Your budget is 12 % of that.

# %% [markdown]
# **Exercise.** Make one update within the budget.
#
# *Contract.*
# - Call `optimizer.step()` **once**, in float32, with the gradient of the mean loss over all tokens of all rows:
#   right before it, `.grad` must equal the plain update's to 1e-4.
# - All rows have the same number of tokens. Gradients are None when you begin. Return nothing.
# - The peak may be at most 12 % of the plain update's.
#
# Part II of the course has what you need, but one tool is not enough. The next cell shows what the model's forward pass
# does, in parts that you may call yourself.

# %% tags=["given"]
from grader import check_update_peak, check_whole_batch_update, make_token_batch, make_transformer


def forward_in_parts(model, tokens: torch.Tensor) -> torch.Tensor:
    """What model(tokens) computes; tokens are [rows, time], the result is [rows, time, vocabulary]."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    states = model.token_embedding(tokens) + model.position_embedding(positions)  # [rows, time, width]
    for block in model.blocks:
        states = block(states)
    return model.head(model.final_norm(states))


# %% exercise="update_within_budget"
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    """Make one update with the gradient of the mean loss over all tokens, within the budget.

    Args:
        model: A language model with the parts that `forward_in_parts` calls.
        optimizer: Holds the parameters of the model; steps once.
        tokens: int64 [rows, time].
        targets: int64 [rows, time], none of them padding.
    """
    ### BEGIN SOLUTION
    from torch.utils.checkpoint import checkpoint

    positions = torch.arange(tokens.shape[1], device=tokens.device)
    for row, target in zip(tokens.split(1), targets.split(1), strict=True):  # [1, time] each
        states = model.token_embedding(row) + model.position_embedding(positions)  # [1, time, width]
        for block in model.blocks:
            states = checkpoint(block, states, use_reentrant=False)
        logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
        loss.backward()
    optimizer.step()
    ### END SOLUTION


# %%
def show_peak():
    model = make_transformer(4, 32, 4, vocabulary=64, context=128).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    batch = make_token_batch(4, 128, 64, seed=0, device=device)

    def step():
        update_within_budget(model, optimizer, *batch)
        optimizer.zero_grad()

    peak = measure_peak_memory(step, model=model, optimizer=optimizer, inputs=batch)
    print(f"a smaller model: peak {format_bytes(peak.peak_bytes)}, parameters {format_bytes(peak.parameter_bytes)}")


look(show_peak)

# %% check="check_whole_batch_update" points=1
check_whole_batch_update(update_within_budget)

# %% check="check_update_peak" points=1
check_update_peak(update_within_budget)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what is held when the forward pass ends: of how many rows, and of how many blocks?<br>
# Then: one lesson of Part II lowers the number of rows, another one the number of blocks.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Why is the loss scaled, and not the gradients?</summary>
# A gradient that has become 0 stays 0, so the scale has to be applied before the backward pass computes it.
# </details>
# <details><summary>In which order: step, clip, update, unscale?</summary>
# Unscale, clip, step, update, each once per update.
# </details>
# <details><summary>What does autocast leave in float32?</summary>
# Weights, gradients, optimizer state, and the operators that need range or precision.
# </details>
#
# **Takeaway: fp16 needs a loss scale that adapts itself; bf16 needs none; both save memory only where activations
# outweigh the parameters.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 06, AdamW.

# %% [markdown]
# **Sources**
# - [PyTorch, automatic mixed precision][amp]: the operators of each list, and the order of the scaler's calls.
# - [PyTorch, GradScaler][examples]: unscaling before clipping, and accumulation with a scaler.
# - [Mixed precision training][paper], Micikevicius and others: loss scaling, master weights.
# - [Efficient training on a single GPU][guide]: the V100 figures, and 18 bytes per parameter.
# - *Efficient AI model training with PyTorch*, slides: the loop of the bug hunt.
#
# [amp]: https://docs.pytorch.org/docs/stable/amp.html
# [examples]: https://docs.pytorch.org/docs/stable/notes/amp_examples.html
# [paper]: https://arxiv.org/abs/1710.03740
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
