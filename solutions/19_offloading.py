# %% [markdown]
# # 19. Offloading
#
# You move weights, activations and optimizer state to a larger, slower memory, and count what the link then costs.
#
# 60 min (estimated) · CPU is enough · after lesson 18

# %% [markdown] objectives="1; 2; 3"
# **You will be able to**
# - predict peak and time of a model whose layers are streamed over a link, and say when the transfers hide;
# - send what autograd saves to far memory, but no parameters;
# - step AdamW with a state that is never entirely on the device.

# %% tags=["given"]
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from grader import MIB, FarMemory, check_streamed_prediction, look, make_wide_blocks, measure_peak_memory

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(f"measured on {device}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 18: all ranks together cannot hold the model's states. What is left to do?</summary>
# More ranks, an optimizer with less state, or a place outside the devices: offloading.
# </details>
# <details><summary>Lesson 3: a checkpointed block keeps its input only. Who decides what else autograd saves?</summary>
# Each operator does, while forward runs: tensors that its backward will need, weights included.
# </details>

# %% [markdown]
# **The problem.** A GPU has 80 GB, and its host has 1,000 GB. A model with 7 billion parameters needs 112 GB for
# float32 weights, gradients and the two moments of AdamW. It would fit into the host with room to spare.
#
# But the link between them, PCIe 4.0 with 16 lanes, carries 32 GB/s in each direction. The GPU's own memory is
# about 60 times as fast. So **what** should be on the other side, and can its transfers be hidden?

# %% [markdown]
# ## Predict: a model that is streamed
#
# Weights are in far memory. A layer's weights cross the link before the layer computes, and their copy on the device
# is freed afterwards. Weights are the same in far memory, so they need not be sent back. Gradients are not
# counted here.
#
# Two engines do the work. The *link* carries one layer at a time, at its rate. The *compute* engine runs one layer at a
# time. With **prefetch**, both work at once: while one layer computes, the next one arrives. This is called
# *overlapping* or *double buffering*.

# %% [markdown]
# **Exercise.** Predict the peak of the weights, and the time of one forward and backward.
#
# *Contract.* Forward runs layer 0 to the last; backward runs them in reverse, each taking twice its forward seconds. A
# layer is freed when it has computed, unless it also computes next. A computation starts as soon as its
# layer has arrived and the computation before is done. A fetch takes memory from its beginning, and begins
# - without `prefetch`, when the layer before is freed;
# - with it, when the computation before begins: for the first fetch of backward, the last layer's backward.
#
# Return peak bytes of weights, and seconds from the first fetch to the end of backward. Judged on other models.


# %% exercise="predict_streamed"
def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> tuple[int, float]:
    """Predict the peak and the time of a model whose weights are streamed.

    Args:
        layer_bytes: Bytes of each layer's weights, in the order of forward.
        forward_seconds: Time of each layer's forward.
        bytes_per_second: Rate of the link.
        prefetch: Whether the next layer is fetched while one computes.

    Returns:
        Most bytes of weights on the device at once, and seconds.
    """
    ### BEGIN SOLUTION
    layers = list(range(len(layer_bytes)))
    order = layers + layers[::-1]
    compute = forward_seconds + [2 * seconds for seconds in reversed(forward_seconds)]
    peak, seconds = max(layer_bytes), layer_bytes[0] / bytes_per_second + compute[-1]
    for now, following, computing in zip(order, order[1:], compute, strict=False):
        arriving = 0 if following == now else layer_bytes[following]
        fetching = arriving / bytes_per_second
        seconds += max(computing, fetching) if prefetch else computing + fetching
        peak = max(peak, layer_bytes[now] + arriving if prefetch else 0)
    return peak, seconds
    ### END SOLUTION


# %%
sizes, times = [160_000_000, 640_000_000, 320_000_000], [0.048, 0.024, 0.048]
for prefetch in (False, True):
    print(f"prefetch={prefetch}:", look(predict_streamed, sizes, times, 10e9, prefetch))

# %% check="check_streamed_prediction" points=3
check_streamed_prediction(predict_streamed)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw two rows for three layers, link and compute. How often does each layer cross the link?<br>
# Then: go from one computing layer to the next. What is on the device meanwhile, and how long does this slot last?
# </details>

# %% [markdown]
# **Run.** The next cell simulates this machine in real time: two threads sleep for as long as transfers and layers
# take. The figure is its timeline.


# %%
def make_work(events):
    """Return a function that keeps an engine busy for some seconds, and notes when that was."""
    start = time.perf_counter()

    def work(engine, seconds):
        begin = time.perf_counter() - start
        time.sleep(seconds)
        length = time.perf_counter() - start - begin
        span = {"ts": 1e6 * begin, "dur": 1e6 * length}
        events.append(span | {"cat": "kernel", "name": engine, "args": {"stream": engine}})

    return work


# %%
def run_streamed(sizes, times, rate, prefetch):
    """Sleep as the two engines would work, and return when each was busy."""
    events = []
    work = make_work(events)
    layers = [*range(len(sizes)), *reversed(range(len(sizes)))]
    with ThreadPoolExecutor(1) as link:
        arriving = link.submit(work, "link", sizes[0] / rate)
        for place, layer in enumerate(layers):
            arriving.result()
            fetch = [one for one in layers[place + 1 : place + 2] if one != layer]
            if fetch and prefetch:
                arriving = link.submit(work, "link", sizes[fetch[0]] / rate)
            work("compute", times[layer] * (1 if place < len(sizes) else 2))
            if fetch and not prefetch:
                arriving = link.submit(work, "link", sizes[fetch[0]] / rate)
    return events


# %%
from grader import draw_trace

for prefetch in (False, True):
    events = run_streamed(sizes, times, 10e9, prefetch)
    draw_trace(events, title=f"Three layers streamed, prefetch={prefetch}")
    measured = max(event["ts"] + event["dur"] for event in events) / 1e6
    predicted = look(predict_streamed, sizes, times, 10e9, prefetch)
    text = f"predicted {predicted[1]:.3f} s, measured / predicted {measured / predicted[1]:.2f}" if predicted else ""
    print(f"prefetch={prefetch}: measured {measured:.3f} s, {text}\n")

# %% [markdown]
# **Investigate.** With prefetch the link's row has gaps and so has compute's: in each slot one engine waits for the
# other. A slot lasts as long as the **longer** of the two, so neither the sum of all work nor the longer total is
# right. The first fetch hides behind nothing. And the last layer crosses the link once, where all others cross twice.
#
# In words: *a pair of neighbours sets the peak, and the slower engine of each slot sets the time.*

# %% [markdown]
# **When does a transfer hide?** Take a linear layer with P weights of 2 bytes and T tokens in a step. Its fetch takes
# `2 P / rate` seconds, its forward `2 P T / (FLOP/s)`. Before you run the cell: does a larger layer hide better?

# %%
flops_per_second = 312e12  # NVIDIA A100, bf16, its data sheet's peak
for link, rate in (("PCIe 4.0, 16 lanes", 32e9), ("an NVMe disk (round figure)", 6e9)):
    for parameters in (10_000_000, 1_000_000_000):
        fetch = 2 * parameters / rate
        tokens = fetch * flops_per_second / (2 * parameters)
        print(f"{link:<28} {parameters:>13,} weights: {1e3 * fetch:7.2f} ms, hidden from {tokens:>6,.0f} tokens on")

# %% [markdown]
# P cancels. A fetch hides when **tokens ≥ FLOP/s divided by the link's rate**: 9,750 for PCIe, whatever the
# model (2 bytes a weight cancel 2 FLOPs). Backward computes twice as much and needs half as many, and so does a step at
# half the peak rate. Larger batches hide transfers, and so does gradient accumulation, if *all* micro-batches pass a
# layer before the next layer computes.
#
# That was the idea of **L2L** (*layer to layer*, 2020): the model is in the host, in an *eager parameter server*
# (EPS), and a layer runs many micro-batches before it leaves. The server reduces gradients and steps the optimizer in
# the background meanwhile. ZeRO-Infinity (2021) and FSDP with offload stream weights, too.

# %% [markdown]
# ## Far memory you can measure
#
# `FarMemory` is this course's other side of the link. `far.put(tensor)` copies a tensor out and returns a small
# `FarTensor`; `far.get(far_tensor)` makes a new tensor on the device. The far copy is freed when nobody holds the
# `FarTensor` any more. It counts `sent_bytes`, `fetched_bytes` and `held_bytes`.
#
# On a CUDA device, far memory is *pinned* memory of the host (pages that are never swapped out, so that the GPU can
# copy by itself). Without one it is a memory-mapped file. No meter here counts it: what is measured is the device.
# Copies run in order with the computation, so peaks repeat to the byte and nothing overlaps.

# %%
far = FarMemory()


def send_and_fetch():
    far_tensor = far.put(torch.ones(1024, 1024, device=device))
    return far.get(far_tensor).sum()


peak = measure_peak_memory(send_and_fetch, device=device)
print(f"above entry {peak.above_entry_bytes / MIB:.1f} MiB: two tensors of 4 MiB, one after the other")
print(f"the meter ran it twice: {far.sent_bytes / MIB:.0f} MiB sent, {far.fetched_bytes / MIB:.0f} fetched")
print(f"{far.held_bytes} bytes held")

# %% [markdown]
# **A trap.** Sixteen layers have frozen weights of 1 MiB in far memory. Each layer fetches its weight, uses it and
# drops it. Before you run the cell: what is the peak of the first row, and how often does the second row fetch a
# weight?

# %%
from torch.utils.checkpoint import checkpoint

far = FarMemory()
far_weights = [far.put(torch.randn(512, 512, device=device) / 32) for _ in range(16)]
inputs = torch.ones(4, 512, device=device, requires_grad=True)


def run_streamed_layers(is_checkpointed):
    hidden, inputs.grad = inputs, None
    for far_weight in far_weights:
        layer = lambda states, here=far_weight: torch.tanh(states @ far.get(here))  # noqa: E731
        hidden = checkpoint(layer, hidden, use_reentrant=False) if is_checkpointed else layer(hidden)
    hidden.sum().backward()


for is_checkpointed in (False, True):
    before = far.fetched_bytes
    peak = measure_peak_memory(lambda: run_streamed_layers(is_checkpointed), inputs=inputs)  # noqa: B023
    fetched = (far.fetched_bytes - before) / 2 / MIB  # the meter ran two steps
    print(f"checkpointed={is_checkpointed!s:<5}: peak {peak.peak_bytes / MIB:5.2f} MiB, {fetched:.0f} MiB fetched")

# %% [markdown]
# <details><summary>Answer</summary>
# All 16 MiB: the gradient of a layer's input needs its weight, so autograd saves it, and dropping the name frees
# nothing. A checkpoint saves inputs only, and fetches each weight twice. It does so for the last layer as well, because
# it does not know that this weight is needed again at once.
# </details>
#
# `torch.no_grad()` would lower the peak as well, but then no gradient reaches the inputs. The next section decides for
# each saved tensor where it stays.

# %% [markdown]
# ## What autograd saves, sent away
#
# While `torch.autograd.graph.saved_tensors_hooks(pack, unpack)` is active as a context manager, autograd calls
# `pack(tensor)` for each tensor that an operator saves, and keeps **what it returns** in place of the tensor. Backward
# hands that to `unpack`, which returns the tensor again. The next cell prints what `pack` sees.


# %%
def show(tensor):
    kind = "a Parameter" if isinstance(tensor, torch.nn.Parameter) else ""
    print(f"{tuple(tensor.shape)!s:<10} {str(tensor.dtype)[6:]:<8} {tensor.nbytes:>6,} bytes {kind}")
    return tensor


model = torch.nn.Sequential(make_wide_blocks(1, 16, 64)[0], torch.nn.LayerNorm(16), torch.nn.Dropout(0.5))
with torch.autograd.graph.saved_tensors_hooks(show, lambda packed: packed):
    model(torch.ones(32, 16))

# %% [markdown]
# Two inputs, two layers' outputs and two numbers per row for LayerNorm are activations, and so is the mask. The
# LayerNorm's vectors are parameters. And what is `(64, 16)`? Sending it would cost a transfer and free nothing.

# %% [markdown]
# **Exercise.** Offload what forward saves.
#
# *Contract.* Return a context manager for forward; backward runs after it.
# - Send each saved tensor of `threshold_bytes` or more to `far`, whatever its dtype, each time that autograd saves it.
#   Count the tensor's own elements, not its whole storage.
# - What belongs to a parameter of `model`, frozen ones included, stays on the device. What belongs to a buffer may.
# - Loss and gradients are those of a plain run. The device keeps no tensor that was sent, nor a fetched one that
#   backward has used.
#
# Judged on other models. The peak is at most 45 % of a plain run's.

# %% tags=["given"]
from grader import check_offloaded_gradients, check_offloaded_peak, check_offloaded_tensors


# %% exercise="offload_saved"
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    """Return a context manager that sends large saved tensors to far memory.

    Args:
        model: The module whose parameters stay.
        far: Far memory to use.
        threshold_bytes: Fewest bytes of a tensor that is sent.
    """
    ### BEGIN SOLUTION
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def pack(tensor):
        stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
        return tensor if stays else far.put(tensor)

    def unpack(packed):
        return packed if isinstance(packed, torch.Tensor) else far.get(packed)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)
    ### END SOLUTION


# %%
def try_offload(offload):
    far, model = FarMemory(), make_wide_blocks(1, 16, 64)
    with offload(model, far, 2048):
        loss = model(torch.ones(32, 16)).sum()
    print(f"after forward {far.held_bytes:,} bytes held in far memory")
    loss.backward()
    print(f"after backward {far.held_bytes:,} held, {far.sent_bytes:,} sent, {far.fetched_bytes:,} fetched")


look(try_offload, offload_saved)

# %% check="check_offloaded_gradients" points=2
check_offloaded_gradients(offload_saved)

# %% check="check_offloaded_tensors" points=2
check_offloaded_tensors(offload_saved)

# %% check="check_offloaded_peak" points=1
check_offloaded_peak(offload_saved)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the tensor of shape (64, 16) is no Parameter. What does it share with one?<br>
# Then: memory belongs to a storage. Two tensors with the same storage have the same untyped_storage().data_ptr().
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does the peak fall although every tensor comes back?</summary>
# They come back one at a time, in reverse order, and each is freed as soon as its operator's backward has used it.
# </details>
#
# **Modify.** `Linear, Tanh` blocks save the output of each Tanh twice: Tanh needs it, and so does the next Linear.
# Eight blocks of width 64 and 1,024 rows, a threshold of 1 KiB. Before you run the cell: how many MiB does a plain run
# save, and how many do your hooks send?

# %%
from grader import make_thin_blocks, measure_saved_tensors

thin, rows, far = make_thin_blocks(8, 64).to(device), torch.ones(1024, 64, device=device), FarMemory()
print(f"plain: {measure_saved_tensors(lambda: thin(rows).sum()).total_bytes / MIB:.2f} MiB saved")


def run_offloaded():
    with offload_saved(thin, far, 1024):
        loss = thin(rows).sum()
    loss.backward()
    return far.sent_bytes / MIB


sent = look(run_offloaded)
print(f"sent: {sent:.2f} MiB" if sent else "")

# %% [markdown]
# <details><summary>Answer</summary>
# Nine tensors of 0.25 MiB are saved: the input and eight outputs. Sixteen are sent, because every output but the last
# goes twice. Autograd shares one tensor for both; hooks see two, and know nothing of each other.
# </details>

# %% [markdown]
# A library remembers what it has sent. It must not do so by `data_ptr()` or `id` alone: what was sent is freed, and its
# address serves the next tensor. PyTorch's own `torch.autograd.graph.save_on_cpu(pin_memory=True)` does not remember.
# It has no threshold either, and sends weights, too. TRL's `OffloadActivations` has one: 1,024 bytes, unless you set
# another.
#
# TRL's class also gives copies a stream of their own. Overlap then costs memory, because a tensor is freed only when
# its copy is done. `max_fwd_stash_size`, 5 by default, bounds how many tensors of forward are kept for it.

# %% [markdown]
# ## The price of activations: keep, send or compute again
#
# Checkpointing frees the same tensors without a link. Both combine: under your hooks, what a checkpoint saves is a
# block's input, so only that is sent.

# %%
from contextlib import nullcontext

wide, rows = make_wide_blocks(12, 64, 256).to(device), torch.randn(1024, 64, device=device)


def make_run(far, is_offloaded, is_checkpointed):
    def run():
        wide.zero_grad()
        with offload_saved(wide, far, 65536) if is_offloaded else nullcontext():
            hidden = rows
            for block in wide:
                hidden = checkpoint(block, hidden, use_reentrant=False) if is_checkpointed else block(hidden)
            loss = hidden.square().mean()
        loss.backward()

    return run


# %%
print(f"{'':<24} {'peak':>10} {'sent':>10} {'step':>10}")
for name, choice in {
    "plain": (False, False),
    "checkpointed": (False, True),
    "offloaded": (True, False),
    "inputs offloaded": (True, True),
}.items():
    far = FarMemory()
    run = make_run(far, *choice)
    peak = look(lambda run=run: measure_peak_memory(run, model=wide, inputs=rows))
    if peak:
        sent = far.sent_bytes / 2 / MIB  # the meter ran two steps
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize() if device.type == "cuda" else None
        milliseconds = 1e3 * (time.perf_counter() - begin)
        print(f"{name:<24} {peak.peak_bytes / MIB:>6.1f} MiB {sent:>6.1f} MiB {milliseconds:>7.1f} ms")

# %% [markdown]
# Offloading all that is saved moves every activation out and in. Checkpointing pays with one more forward, about a
# third of the compute. Together they send a block's input only, so nothing on the device grows with depth but weights
# and gradients. (Their peak is above that of the third row by the interior of one block, which is computed again.) The
# times are of one CPU and a file; on a GPU they depend on the link.

# %% [markdown]
# ## An optimizer whose state streams
#
# AdamW reads and writes each moment once per update, and needs none of them in between. So the state can be in far
# memory, and pass through the device in small **chunks**: fetch two moments, update, send two moments.
#
# The update below is that of lesson 6, for any part of a parameter. It writes in place, also to `weight`.


# %% tags=["given"]
def adamw_update(weight, gradient, first, second, step):
    """Update a part of a weight and its two moments in place; `step` counts from 1."""
    lr, beta1, beta2, eps, weight_decay = 0.01, 0.9, 0.99, 1e-3, 0.1
    weight.mul_(1 - lr * weight_decay)
    first.lerp_(gradient, 1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    denominator = (second / (1 - beta2**step)).sqrt_().add_(eps)
    weight.addcdiv_(first, denominator, value=-lr / (1 - beta1**step))


# %% [markdown]
# **Exercise.** Stream the state of AdamW.
#
# *Contract.* Return a function `step()`. For each parameter that has a gradient, it calls `update` on consecutive
# chunks of `chunk` numbers, the last one shorter.
# - A parameter's moments begin as zeros in its first update. `update`'s `step` counts its updates, from 1.
# - In an update each moment crosses the link once in each direction; the first zeros need not. After `step()` moments
#   are in `far` only, one copy of each. `far.put(tensor, onto)` overwrites the `FarTensor` `onto`, and returns it.
# - In addition to weights and gradients, the device holds at most 8 chunks (of `chunk` float32 numbers), what `update`
#   allocates included.

# %% tags=["given"]
from grader import check_streamed_peak, check_streamed_traffic, check_streamed_weights


# %% exercise="make_streamed_step"
def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    """Return a step of AdamW whose state is in far memory.

    Args:
        parameters: Contiguous float32 parameters.
        far: Far memory to use.
        chunk: Numbers of a parameter that are updated at once.
        update: update(weight, gradient, first, second, step), in place; call it under torch.no_grad().

    Returns:
        step(), which the caller calls after each backward.
    """
    ### BEGIN SOLUTION
    state, counts = {}, [0] * len(parameters)

    @torch.no_grad()
    def step():
        for index, parameter in enumerate(parameters):
            if parameter.grad is None:
                continue
            counts[index] += 1
            pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
            for place, (weight, gradient) in enumerate(pieces):
                kept = state.get((index, place), (None, None))
                first, second = [torch.zeros_like(weight) if one is None else far.get(one) for one in kept]
                update(weight, gradient, first, second, counts[index])
                state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])

    ### END SOLUTION
    return step


# %%
def try_step(make_step):
    parameter, far = torch.nn.Parameter(torch.ones(10)), FarMemory()
    step = make_step([parameter], far, 4, adamw_update)
    for _ in range(2):
        parameter.grad = torch.arange(10.0)
        step()
        print(f"sent {far.sent_bytes} bytes, fetched {far.fetched_bytes}, held {far.held_bytes}")
    return parameter.detach()


own = look(try_step, make_streamed_step)
reference = torch.nn.Parameter(torch.ones(10))
optimizer = torch.optim.AdamW([reference], lr=0.01, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1)
for _ in range(2):
    reference.grad = torch.arange(10.0)
    optimizer.step()
print(f"largest difference from AdamW: {(own - reference).abs().max().item():.1e}" if own is not None else "")

# %% check="check_streamed_weights" points=2
check_streamed_weights(make_streamed_step)

# %% check="check_streamed_traffic" points=2
check_streamed_traffic(make_streamed_step)

# %% check="check_streamed_peak" points=1
check_streamed_peak(make_streamed_step)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write down where the moments of one chunk are before, during and after its update, for two steps.<br>
# Then: parameter.view(-1) shares memory with the parameter. What identifies a chunk, and what counts its updates?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: what does a smaller chunk cost and save?</summary>
# The device holds fewer moments at once, but there are more transfers, each with a latency of its own.
# </details>
#
# A *paged* optimizer leaves the choice to the driver. bitsandbytes' `paged_adamw_8bit` puts its state into NVIDIA's
# unified memory: while it fits, its pages stay on the GPU, and when activations need room, the driver evicts some to
# the host. QLoRA (2023) uses it for the memory spikes that long sequences cause.
#
# It needs a CUDA device. There, the Trainer takes
# `TrainingArguments(..., optim="paged_adamw_8bit", gradient_checkpointing=True)`.

# %% [markdown]
# ## The price: move the state, or move the step?
#
# Streaming moves 8 bytes of moments in and 8 out for each parameter. **ZeRO-Offload** (2021) reverses this: the
# state stays in the host and so does its step, which DeepSpeed's CPU Adam computes. Only 2 bytes of gradient go out
# and 2 bytes of 16-bit weight come back. Before you run the cell: what is the ratio of the last row to the first?

# %%
parameters, rate = 7e9, 32e9  # PCIe 4.0 with 16 lanes carries both directions at once
for name, bytes_out in (("state streamed, float32", 8), ("state streamed, 8-bit", 2), ("step in the host", 2)):
    for micro_batches in (1, 8):
        seconds = bytes_out * parameters / rate
        text = f"{seconds:.2f} s of link per update, {seconds / micro_batches:.2f} s per micro-batch of {micro_batches}"
        print(f"{name:<26} {text}")

# %% [markdown]
# A quarter. The lines with 8 micro-batches are the reason why offloading goes with accumulation: streamed state
# crosses once per update, however many micro-batches it has. For the step in the host this holds only where gradients
# accumulate on the device. Where the host accumulates them, they cross in each micro-batch, as activations and
# streamed weights do.

# %% [markdown]
# What the libraries call it, and what each of them moves:
#
# | tool | moves | when |
# |---|---|---|
# | `save_on_cpu`, TRL's `OffloadActivations` | activations | forward out, backward in |
# | paged optimizers | pages of state | when the device is full |
# | ZeRO-Offload | gradients out, weights in | each backward; each update, with the step in the host |
# | FSDP2, `CPUOffloadPolicy` | its shards: weights in, gradients out | each use; the step runs in the host |
# | ZeRO-Infinity | the same, to NVMe disks as well | each use |
# | Accelerate, `device_map="auto"` | weights in, by layers | each forward; made for inference |

# %% [markdown]
# | | streamed weights | offloaded activations | offloaded state |
# |---|---|---|---|
# | **use it when** | not even a shard fits | they do not fit, and recomputing costs more | it does not fit |
# | **do not when** | a step has few tokens | the link is slow next to a forward | steps are many and small |
# | **combine with** | large batches, prefetch | checkpoints: send their inputs only | accumulation, 8-bit state |
#
# Time decides, next to memory: measure the link before you choose. And look at the cheaper remedies first: an 8-bit
# state (lesson 8) and a checkpoint (lesson 3) need no link at all.

# %% [markdown] tags=["further"]
# ## Further: a job on four ranks
#
# Four ranks train one model together. The next cell measures two updates in the ordinary way, on a single rank. Each of
# four would hold the same bytes. You have less than half of that.

# %% tags=["given"]
import torch.distributed as dist
import torch.nn.functional as F

from grader import check_shared_job, look_at_ranks


def make_job(rank):
    torch.manual_seed(rank)
    batches = [(torch.randn(128, 32), torch.randn(128, 32)) for _ in range(2)]
    return make_wide_blocks(16, 32, 128), batches


# %%
alone, rows_of_one = make_job(0)
weight_bytes = sum(parameter.nbytes for parameter in alone.parameters())


def train_alone():
    optimizer = torch.optim.AdamW(alone.parameters(), lr=0.05, eps=0.1)
    for inputs, targets in rows_of_one:
        optimizer.zero_grad()
        F.mse_loss(alone(inputs), targets).backward()
        optimizer.step()


peak = measure_peak_memory(train_alone, model=alone, inputs=rows_of_one)
print(f"weights {weight_bytes / MIB:.2f} MiB, peak {peak.peak_bytes / weight_bytes:.1f} times that; you have 3.4 times")

# %% [markdown]
# **Exercise.** Train together within the budget.
#
# *Contract.*
# - Every rank calls your function with an equal model, a `Sequential` of blocks, and as many rows of its own. For each
#   pair `inputs, targets`, make one update with the gradient of `F.mse_loss` over the rows of **all** ranks, by AdamW
#   with `lr=0.05` and `eps=0.1`, its other arguments at their defaults, all in float32.
# - No rank ever holds more than `budget_bytes`, weights and batches included. Far memory does not count.
# - In the end every rank's `model` holds the new weights.
#
# You may use everything that you have learnt. The check runs on 4 ranks and on 3, where blocks cannot be shared out
# evenly.


# %% exercise="train_together"
def train_together(model, batches: list, budget_bytes: int) -> None:
    """Train a model on several ranks, none of which holds more than so many bytes.

    Args:
        model: Blocks in a Sequential, equal on every rank, on the CPU.
        batches: Inputs and targets [rows, width] of each update; every rank has as many rows.
        budget_bytes: Most bytes that this rank may hold at once.
    """
    ### BEGIN SOLUTION
    from torch.utils.checkpoint import checkpoint

    rank, world_size = dist.get_rank(), dist.get_world_size()
    owners = [(index % world_size, p) for index, block in enumerate(model) for p in block.parameters()]
    optimizer = torch.optim.AdamW([p for owner, p in owners if owner == rank], lr=0.05, eps=0.1)
    for hidden, targets in batches:
        for block in model:
            hidden = checkpoint(block, hidden, use_reentrant=False)
        F.mse_loss(hidden, targets).backward()
        for owner, parameter in owners:
            dist.reduce(parameter.grad, owner)
            parameter.grad /= world_size
        optimizer.step()
        for owner, parameter in owners:
            dist.broadcast(parameter.data, owner)
        model.zero_grad()
    ### END SOLUTION


# %%
def try_together(rank, train):
    model, batches = make_job(rank)
    budget_bytes = int(3.4 * weight_bytes)
    peak = measure_peak_memory(lambda: train(model, batches, budget_bytes), model=model, inputs=batches)
    return peak.peak_bytes / weight_bytes, float(sum(parameter.sum() for parameter in model.parameters()))


run = look_at_ranks(try_together, 4, train=train_together)
for rank, (multiple, total) in enumerate(run.returned if run else []):
    print(f"rank {rank}: peak {multiple:.2f} times the weights' bytes; the weights add up to {total:.4f}")

# %% check="check_shared_job" points=2 tags=["needs-loopback"]
check_shared_job(train_together)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write the ordinary peak as a sum, in multiples of the weights' bytes. Which two terms are large?<br>
# Then: who else could hold one of them? And must the other one exist all at once?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why share blocks out by bytes, and not by the number of tensors?</summary>
# The budget holds for every rank, so the largest share counts, and a matrix has 32 or 128 times the bytes of a bias.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Fetching takes 3 s in total and computing 4 s. Does a step with prefetch take 4 s?</summary>
# More: the first fetch hides behind nothing, and in each slot the longer of the two counts.
# </details>
# <details><summary>You offload all saved tensors and the peak hardly falls. Name two causes.</summary>
# Something still refers to the tensors that were sent or fetched, or the weights and gradients are most of the peak.
# </details>
# <details><summary>Why does ZeRO-Offload run the optimizer on the slower processor?</summary>
# A step does little compute on much state. Moving gradients and weights costs 4 bytes a parameter, not 16.
# </details>

# %% [markdown]
# **Takeaway: far memory is cheap and the link is not. Send what is large, needed late and needed rarely, and let it
# travel while something else computes.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 20, FP8 training.

# %% [markdown]
# **Sources**
# - [PyTorch, hooks for saved tensors][hooks]: `pack`, `unpack`, `save_on_cpu`.
# - [NVIDIA, A100 data sheet][a100]: 312 TFLOP/s in bf16, 2 TB/s of memory (80 GB), 64 GB/s of PCIe in both directions.
# - [Pudipeddi and others, L2L][l2l] (2020): layer to layer, the eager parameter server, many micro-batches per layer.
# - [Ren and others, ZeRO-Offload][offload] (2021): what moves in each update, and the step on the CPU.
# - [Rajbhandari and others, ZeRO-Infinity][infinity] (2021): NVMe as a third tier.
# - [Dettmers and others, QLoRA][qlora] (2023): paged optimizers in unified memory.
# - [TRL, model utilities][trl], version 0.18: `min_offload_size=1024` bytes, `max_fwd_stash_size=5`, streams.
# - [PyTorch, fully_shard][fsdp]: `CPUOffloadPolicy`. [Accelerate, big model inference][big]: `device_map="auto"`.
#
# [hooks]: https://docs.pytorch.org/docs/stable/autograd.html#saved-tensors-hooks
# [a100]: https://www.nvidia.com/en-us/data-center/a100/
# [l2l]: https://arxiv.org/abs/2002.05645
# [offload]: https://arxiv.org/abs/2101.06840
# [infinity]: https://arxiv.org/abs/2104.07857
# [qlora]: https://arxiv.org/abs/2305.14314
# [trl]: https://huggingface.co/docs/trl/v0.18.1/model_utils
# [fsdp]: https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
# [big]: https://huggingface.co/docs/accelerate/usage_guides/big_modeling
