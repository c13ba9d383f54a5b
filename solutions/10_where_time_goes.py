# %% [markdown]
# # 10. Where time goes
#
# You count the FLOPs of a training step, forecast the time of a kernel, and read from a trace why a device is slow.
#
# 60 min (estimated) · CPU is enough · after lesson 09

# %% [markdown] objectives="1; 2; 3"
# **You will be able to**
# - predict the FLOPs of a training step from its shapes, and say where `6 · parameters · tokens` is wrong;
# - forecast the time of a kernel from its FLOPs, its bytes and a device's two rates;
# - diagnose from a trace whether a run is bound by compute, memory, launches or data.

# %% tags=["given"]
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from grader import device_name, format_seconds, lesson_device, look, make_transformer, measure_step_time

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 09: how many steps per update does a prepared scheduler take on two processes?</summary>
# Two: one for each process.
# </details>
# <details><summary>Lesson 03: what does a checkpointed block compute more than once?</summary>
# Its forward pass: once without keeping activations, and again right before its own backward pass.
# </details>

# %% [markdown]
# **The problem.** Part II measured memory. Time is the other axis, and it comes with a natural yardstick: the rate at
# which the device could compute. BERT-large was trained on a V100 with sequences of 512 tokens (the published run that
# this course follows), at 8.86 samples per second in fp32 and 18.64 with fp16. The datasheet promises 15.7 TFLOP/s in
# fp32 and 125 TFLOP/s in fp16. One sample takes about 1.0 TFLOP, as you will soon be able to work out.

# %%
sample_flops = 3 * 512 * 24 * (24 * 1024**2 + 4 * 512 * 1024)  # 24 layers, width 1024
for name, samples_per_second, peak in (("fp32", 8.86, 15.7e12), ("fp16", 18.64, 125e12)):
    rate = samples_per_second * sample_flops
    print(f"{name}: {rate / 1e12:>5.1f} TFLOP/s, {rate / peak:.0%} of the peak")

# %% [markdown]
# The peak rate rose eightfold, but the speed only doubled, so the share of the peak that the run uses fell from 57 % to
# 15 %. That share is the **model FLOPs utilization** (MFU). What does the device do for the rest of the time? There are
# four answers, each with its own remedy:
#
# | bound by | the device | remedy |
# |---|---|---|
# | compute | calculates | fewer FLOPs, fewer bits |
# | memory | reads and writes | fusion, fewer bytes (lessons 12, 13) |
# | launch | waits for the CPU to start work | larger kernels, CUDA graphs |
# | data | waits for a batch | workers, pinned memory (lesson 11) |

# %% [markdown]
# ## Predict: the FLOPs of a step
#
# The product of an [m, k] and a [k, n] matrix takes `2·m·k·n` FLOPs: one multiplication and one addition per term. In a
# transformer, such *contractions* account for nearly all FLOPs. Normalisations and softmax take a few FLOPs per number,
# and element-wise operations between one and ten. They matter for time, as you will see, but not for this count.
#
# For `C = A·B`, the backward pass computes two products of the same size: `dC·Bᵀ` for the gradient of A, and `Aᵀ·dC`
# for that of B. It needs both whenever both factors depend on something that is trained.

# %% [markdown]
# **Exercise.** Predict the FLOPs of a training step of `make_transformer`. Each block has one projection to queries,
# keys and values, then attention, an output projection and a feed-forward network of 4 times the width. A head follows
# the last block.
#
# *Contract.*
# - Count the contractions of the forward and backward pass, without the optimizer. Attention computes all scores of a
#   sequence, including the masked ones. The embeddings are lookups.
# - If `is_checkpointed`, each block's whole forward pass runs once more.
# - Return a number.
#
# The check asks about three models, and does not allow `FlopCounterMode`.

# %% tags=["given"]
from grader import check_step_flops


# %% exercise="step_flops"
def step_flops(
    layers: int, width: int, heads: int, vocabulary: int, batch: int, time: int, is_checkpointed: bool
) -> float:
    """FLOPs of the contractions of one training step.

    Args:
        layers: Blocks.
        width: Features of a position.
        heads: Attention heads in a block, each of width / heads features.
        vocabulary: Scores that the head computes for each position.
        batch: Sequences.
        time: Positions of a sequence.
        is_checkpointed: Whether every block is checkpointed.

    Returns:
        FLOPs of forward and backward.
    """
    ### BEGIN SOLUTION
    block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
    blocks = batch * time * layers * block
    head = batch * time * 2 * width * vocabulary
    return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
    ### END SOLUTION


# %%
def count_flops(model, tokens):
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(tokens).logsumexp(-1).mean().backward()
    return counter.get_total_flops()


tokens = torch.zeros(2, 48, dtype=torch.long, device=device)
counted = count_flops(make_transformer(2, 128, 4, vocabulary=320).to(device), tokens)


def compare_with_the_counter():
    predicted = step_flops(2, 128, 4, 320, 2, 48, False)
    print(f"predicted {predicted:,}   counted {counted:,}   ratio {predicted / counted:.4f}")


look(compare_with_the_counter)

# %% check="check_step_flops" points=2
check_step_flops(step_flops)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many weights does a block have, in squares of the width, and how many FLOPs does each take per token?<br>
# Then: which two products of a block involve no weights, and with how many positions does one token meet there?
# </details>

# %% [markdown]
# **Investigate: may you trust the counter?** It knows a list of operators, and counts anything that is not on the list
# as zero. On CPUs, `scaled_dot_product_attention` runs an operator that torch 2.13 does not list, which is why
# `count_flops` asks for the plain backend. On CUDA the fused backward kernel is listed, but as five products instead of
# four, because it computes the scores again.

# %%
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

model = make_transformer(2, 128, 4, vocabulary=320).to(device)
with FlopCounterMode(display=False) as counter:
    model(tokens).logsumexp(-1).mean().backward()
print(f"the default attention    {counter.get_total_flops():>13,}")
print(f"attention by products    {count_flops(model, tokens):>13,}")
for block in model.blocks:
    block.forward = lambda states, forward=block.forward: checkpoint(forward, states, use_reentrant=False)
for stops_early in (False, True):
    with set_checkpoint_early_stop(stops_early):
        name = "checkpointed, early stop" if stops_early else "checkpointed"
        print(f"{name:<24} {count_flops(model, tokens):>13,}")

# %% [markdown]
# PyTorch's checkpoint stops as soon as it has rebuilt the last saved tensor. The output of a block's last layer is not
# saved, so that layer, which holds a third of the block's weights, is not recomputed. The count is therefore lower than
# that of the contract.
#
# **Where `6 · parameters · tokens` fails.** The rule gives each weight 2 FLOPs forward and 4 backward, so it ignores
# attention. Without embeddings it also ignores a head that shares their weight; with embeddings it counts the position
# embeddings, which are only looked up. The Trainer's `total_flos` is this rule, without embeddings (transformers 5.23).
# The next cell divides it by the contractions of GPT-2's shape: 12 layers of width 768 and a tied head.

# %%
weights = 12 * 12 * 768**2
with_embeddings = weights + (50_257 + 1_024) * 768
for length in (128, 1_024, 8_192, 32_768):
    exact = 3 * (12 * (24 * 768**2 + 4 * length * 768) + 2 * 768 * 50_257)  # for one token
    print(f"{length:>6} tokens:  6ND without embeddings {6 * weights / exact:.2f}", end="")
    print(f"   with embeddings {6 * with_embeddings / exact:.2f} of the contractions")

# %% [markdown]
# ## A clock that tells the truth
#
# A CUDA call returns as soon as the work is *queued*, so a timer around it measures how fast you can ask. A thread that
# works through a queue shows the same effect on a CPU.

# %%
from concurrent.futures import ThreadPoolExecutor

square = torch.randn(768, 768)
with ThreadPoolExecutor(max_workers=1) as queue:
    start = time.perf_counter()
    results = [queue.submit(torch.mm, square, square) for _ in range(8)]
    asked = time.perf_counter() - start
    results[-1].result()  # wait for the last one: "synchronise"
    finished = time.perf_counter() - start
print(f"without waiting {format_seconds(asked)}, with waiting {format_seconds(finished)}")

# %% [markdown]
# On CUDA you wait with `torch.cuda.synchronize()`, or with any call that needs a value: `.item()`, `.cpu()`, `print`,
# an `if` on a tensor. The *next* such line then gets the blame for the time of everything queued before it. CUDA events
# let the device read its own clock, without stopping the queue:

# %%
if device.type == "cuda":
    square = square.to(device)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(8):
        square @ square
    last.record()
    last.synchronize()
    print(f"by CUDA events: {format_seconds(first.elapsed_time(last) / 1e3)}")
else:
    print("no CUDA here: nothing is asynchronous")

# %% [markdown]
# **Warm-up.** The first step is unlike the others: libraries are loaded, kernels are chosen, memory is requested, and
# the optimizer creates its state. Discard it. The course's clock, `measure_step_time`, warms up, synchronises before
# and after each run, and reports the median, since a single slow run says nothing. With it, you can compute the MFU of
# a step.

# %%
model = make_transformer(4, 256, 8, vocabulary=512, context=128).to(device)
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
tokens = torch.zeros(4, 128, dtype=torch.long, device=device)


def training_step():
    optimizer.zero_grad()
    model(tokens).logsumexp(-1).mean().backward()
    optimizer.step()


start = time.perf_counter()
training_step()
torch.ones((), device=device).item()  # wait for the device
print(f"first step {format_seconds(time.perf_counter() - start)}")
step_time = measure_step_time(training_step, run_count=5)
print(step_time)

# %% [markdown]
# A share needs a peak to refer to. For a GPU, you find it in the datasheet. For your CPU, you measure it: a large
# product gives the FLOP/s, and a sum of long tensors the bytes per second. The peak is what the *fastest* run reaches,
# since other work on the machine can only add time. These two numbers are all that the next section needs to know about
# a machine.

# %%
square, result = torch.randn(2, 1024, 1024, device=device)
long, other, total = torch.randn(3, 2**24, device=device)  # 64 MiB each


def seconds_of(operation):
    return min(measure_step_time(operation, run_count=5).steps[0].run_seconds)


machine_flops = 2 * 1024**3 / seconds_of(lambda: torch.mm(square, square, out=result))
machine_bytes = 3 * 4 * 2**24 / seconds_of(lambda: torch.add(long, other, out=total))
rate = count_flops(model, tokens) / step_time.steps[0].median_seconds
print(f"this machine: {machine_flops / 1e9:.0f} GFLOP/s, {machine_bytes / 1e9:.1f} GB/s in fp32")
print(f"the training step: {rate / 1e9:.0f} GFLOP/s, an MFU of {rate / machine_flops:.0%}")

# %% [markdown]
# ## Complete: the roofline of a kernel
#
# A kernel computes and moves bytes at the same time, so it takes the longer of two times:
#
# `seconds = max(FLOPs / (FLOP/s), bytes / (bytes/s))`
#
# The FLOPs per byte of a kernel are its **arithmetic intensity**. The ratio of the device's own two rates is its
# **ridge**: a kernel above the ridge is *compute bound*, one below it *memory bound* (bandwidth bound). Bytes are
# counted in the device's memory: each tensor that a kernel reads, and each that it writes, counts once.

# %% [markdown]
# **Exercise.** A linear layer from `inner` to `columns` features is followed by a GELU and trained with AdamW. The
# product is given; complete the rest.
#
# | kernel | FLOPs |
# |---|---|
# | `"activation"` | 10 for each number of its output |
# | `"activation_backward"` | 10 for each number of the gradient that it writes |
# | `"update"`: AdamW, fused, of the layer's weight | 15 for each weight |
#
# *Contract.*
# - Every tensor, moments included, takes `number_bytes` bytes per number. The GELU has saved its input.
# - Return a dict that maps each of the four names to a pair: seconds, and `"compute"` or `"memory"`.
#
# The check uses other shapes and devices; no kernel is exactly at the ridge.

# %% tags=["given"]
from grader import check_kernel_times


# %% exercise="kernel_times"
def kernel_times(
    rows: int, inner: int, columns: int, number_bytes: int, flops_per_second: float, bytes_per_second: float
) -> dict[str, tuple[float, str]]:
    """Roofline time of four kernels, and the side that bounds each.

    Args:
        rows: Rows of the layer's input.
        inner: Features of the input.
        columns: Features of the output.
        number_bytes: Bytes of each number.
        flops_per_second: The device's rate of computing.
        bytes_per_second: The device's rate of moving bytes.

    Returns:
        For "product", "activation", "activation_backward" and "update": (seconds, side).
    """
    work = {"product": (2 * rows * inner * columns, rows * inner + inner * columns + rows * columns)}  # FLOPs, numbers
    ### BEGIN SOLUTION
    outputs, weights = rows * columns, inner * columns
    work["activation"] = (10 * outputs, 2 * outputs)
    work["activation_backward"] = (10 * outputs, 3 * outputs)
    work["update"] = (15 * weights, 7 * weights)
    times = {}
    for name, (flops, numbers) in work.items():
        computing, moving = flops / flops_per_second, numbers * number_bytes / bytes_per_second
        times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
    return times
    ### END SOLUTION


# %%
def show_kernels():
    for rows in (4096, 16):
        times = kernel_times(rows, 1024, 4096, 2, 312e12, 2.039e12)
        print(f"A100 by its datasheet, bf16, {rows} rows")
        for name, (seconds, side) in times.items():
            print(f"  {name:<20} {format_seconds(seconds):>8}   {side}")


look(show_kernels)

# %% check="check_kernel_times" points=2
check_kernel_times(kernel_times)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write down, for each kernel, which tensors it reads and which it writes. Which does AdamW write?<br>
# Then: what does the derivative of a GELU depend on, besides the incoming gradient?
# </details>

# %% [markdown]
# **Investigate.** Every kernel except the product is below the ridge, so halving the bits halves its time, while a
# device with more FLOP/s does nothing for it. With 16 rows, even the product is below the ridge. This fits the V100's
# run: fp16 can make products eight times as fast, but everything else at most twice.
#
# The backward kernel of the activation moves half as many bytes again as its forward kernel. (Guides say that it reads
# the *output* of the forward pass. That holds for ReLU, but GELU needs the input.) Next, this machine; the FLOPs per
# number are assumed, as above. A point above a roof means that its peak was measured in a disturbed moment.

# %%
from grader import draw_roofline

rows = torch.randn(8, 4096, device=device)
weight = torch.randn(4096, 2048, device=device)
n = 2**24
operations = {  # FLOPs, bytes (a CPU moves more where it first reads the lines that it writes), call
    "product": (2 * 1024**3, 4 * 3 * 1024**2, lambda: torch.mm(square, square, out=result)),
    "8 rows": (2 * 8 * 4096 * 2048, 4 * (8 * 4096 + 4096 * 2048 + 8 * 2048), lambda: rows @ weight),
    "add": (n, 4 * 3 * n, lambda: torch.add(long, other, out=total)),
    "ReLU": (n, 4 * 2 * n, lambda: torch.clamp_min(long, 0, out=total)),
    "GELU": (10 * n, 4 * 2 * n, lambda: torch.ops.aten.gelu.out(long, out=total)),
}
points = {}
for name, (flops, moved, call) in operations.items():
    points[name] = (flops / moved, flops / seconds_of(call))
draw_roofline(points, machine_flops, machine_bytes, title="Operations of this machine below its roofs")

# %% [markdown]
# **Tiles and waves.** A GPU cuts a product into tiles, and each of its multiprocessors works on one at a time. If its
# sides are not multiples of the tile's, part of the last tiles is wasted; if the number of tiles is not a multiple of
# the number of multiprocessors, part of the last **wave** is wasted. With the A100's 108 multiprocessors and tiles of
# 256 x 128 (one of several sizes that cuBLAS chooses from), the share of useful work is:

# %%
for rows_count, columns_count in ((2304, 1536), (2304, 1537), (2304, 1664), (4096, 4096), (4096, 50257), (4096, 50304)):
    tiles = -(-rows_count // 256) * -(-columns_count // 128)
    waves = -(-tiles // 108)
    useful = rows_count * columns_count / (waves * 108 * 256 * 128)
    print(f"{rows_count} x {columns_count:>5}: {tiles:>5} tiles, {waves:>2} waves, {useful:.0%} useful")

# %% [markdown]
# A single column beyond 1,536 costs a second wave, so about half of the device's work is wasted. The vocabulary of
# 50,257 loses almost nothing to tiling, but its rows are not multiples of 16 bytes, so tensor-core kernels cannot read
# them in aligned blocks: pad it to 50,304, a multiple of 64.
#
# **Launch bound.** Every operation also costs CPU time: Python, dispatch, the launch itself. For an operation on a
# single number, that cost is all there is:

# %%
one = torch.ones(1, device=device)


def thousand_small():
    for _ in range(1000):
        one.add_(1)


seconds = measure_step_time(thousand_small, run_count=5).steps[0].median_seconds / 1000
hidden = seconds * machine_bytes / 8
print(f"{format_seconds(seconds)} for each call; {hidden:,.0f} numbers could be read and written in that time")

# %% [markdown]
# A kernel that is shorter than its launch leaves the device idle, whatever the device's rates are. Small batches,
# per-tensor optimizer loops and short sequences are typical cases. The remedies are larger batches, `foreach` and fused
# optimizers (lesson 06), fusion by `torch.compile` (lesson 13), and **CUDA graphs**, which record a step once and
# launch it with one call. A graph needs fixed shapes and addresses.

# %%
if device.type == "cuda":
    graph = torch.cuda.CUDAGraph()
    thousand_small()  # warm up before recording
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        thousand_small()
    print(measure_step_time(thousand_small, graph.replay, run_count=5))
else:
    print("no CUDA here: there are no graphs")

# %% [markdown]
# ## Write: read a trace
#
# `torch.profiler` records what runs when. Here it records three steps on this machine, with batches that take 5
# milliseconds to load. You see first the timeline with the total duration of each row (an operator counts again in the
# one that calls it), then the table that most people look at. The loader is called once more than there are batches,
# to find that it is empty.

# %%
from torch.profiler import profile, supported_activities

from grader import draw_trace, make_chain


def load(number):
    time.sleep(0.005)
    return torch.full((128, 256), float(number))


chain = make_chain(4, 256, 512).to(device)
with profile(activities=supported_activities(), record_shapes=True) as profiler:
    for batch in torch.utils.data.DataLoader(range(3), batch_size=None, collate_fn=load):
        chain(batch.to(device)).square().mean().backward()

# %%
import json
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    profiler.export_chrome_trace(str(Path(folder, "trace.json")))
    events = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
spans = [event for event in events if event["ph"] == "X"]
draw_trace(spans, title="Three steps on this machine")
print()
for entry in sorted(profiler.key_averages(), key=lambda entry: -entry.self_cpu_time_total)[:5]:
    name = entry.key.split("#")[-1][:44]
    print(f"{name:<44} {entry.count:>4} calls  {entry.self_cpu_time_total / 1e3:>6.1f} ms by itself")

# %% [markdown]
# On a GPU the trace gains rows: the kernels on their streams, and the CPU's launches. The course has no GPU to record,
# so the next traces are **synthetic**: a simulated CPU and device run small programs and write events as the profiler
# does. They differ from a real trace in two ways: a kernel's `args` hold its `flops` and `bytes`, which you would
# otherwise work out from the recorded shapes, and the launch queue is shorter. The times `ts` and `dur` are in
# microseconds.

# %%
from grader import recorded_traces

recorded = recorded_traces()
draw_trace(recorded[0].events, title="The first synthetic trace, from its second step on", milliseconds=6)
for event in recorded[0].events[:4]:
    print({name: event[name] for name in ("cat", "name", "ts", "dur")})
print(next(event for event in recorded[0].events if event["cat"] == "kernel")["args"])

# %%
draw_trace(recorded[1].events, title="The second, on the same scale of time", milliseconds=6)

# %% [markdown]
# The categories are `kernel`, on a stream of the device; `cuda_runtime`, calls of the CPU that launch or synchronise;
# and `user_annotation`, which includes `ProfilerStep#0`, `#1`, ..., and calls of the loader, with `DataLoader` in their
# names.
#
# The CPU runs ahead of the device, so a full CPU row explains nothing by itself: loading is harmless while the device
# works, and so is a launch that waits for room in the queue. Ask about the **device's gaps** first.

# %% [markdown]
# **Exercise.** Write a function that diagnoses a trace.
#
# *Contract.*
# - Judge the time from the start of `ProfilerStep#1`, when no kernel is running, to the end of the last kernel.
# - If, for 70 % of that time or more, at least one kernel is running, return `"compute"` or `"memory"`: the side on
#   which all kernels of that time together need longer at the device's rates.
# - Otherwise return `"data"` if the loader runs during more than half of the time in which no kernel does, and
#   `"launch"` (here, any other wait for the CPU) if not.
#
# The check draws twelve traces of other programs and devices.

# %% tags=["given"]
from grader import check_trace_diagnoses


# %% exercise="diagnose_trace"
def diagnose_trace(events: list[dict], flops_per_second: float, bytes_per_second: float) -> str:
    """What bounds a training run, from its trace.

    Args:
        events: Dicts with "cat", "name", "ts", "dur" and "args", sorted by "ts"; times in microseconds.
        flops_per_second: The device's rate of computing.
        bytes_per_second: The device's rate of moving bytes.

    Returns:
        "compute", "memory", "launch" or "data".
    """
    ### BEGIN SOLUTION
    start = next(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
    kernels = [event for event in events if event["cat"] == "kernel" and event["ts"] >= start]
    loads = [(event["ts"], event["ts"] + event["dur"]) for event in events if "DataLoader" in event["name"]]
    idle, loading, end = 0.0, 0.0, start
    for kernel in kernels:
        if kernel["ts"] > end:  # a gap, from `end` until this kernel starts
            idle += kernel["ts"] - end
            loading += sum(max(0.0, min(stop, kernel["ts"]) - max(begin, end)) for begin, stop in loads)
        end = max(end, kernel["ts"] + kernel["dur"])
    if idle > 0.3 * (end - start):
        return "data" if loading > idle / 2 else "launch"
    computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
    moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
    return "compute" if computing > moving else "memory"
    ### END SOLUTION


# %%
def show_diagnoses():
    for number, trace in enumerate(recorded):
        diagnosis = diagnose_trace(trace.events, trace.flops_per_second, trace.bytes_per_second)
        print(f"trace {number}: {len(trace.events)} events, bound by {diagnosis}")


look(show_diagnoses)

# %% check="check_trace_diagnoses" points=4
check_trace_diagnoses(diagnose_trace)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: two streams may run at once. For how long does at least one kernel run, if you go through the kernels in the
# order of their starts and remember until when the device is already known to be busy?<br>
# Then: where such a gap and a load overlap, when does the overlap begin and end? "Together" means sums: which sum do
# you divide by which rate before you compare?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does 100 % in nvidia-smi prove so little?</summary>
# Its "GPU utilization" is the share of time in which any kernel runs: it is 100 % for a device that is bound by memory,
# at an MFU of a few per cent, and for one that uses a single one of its 108 multiprocessors, at less than one per cent.
# </details>

# %% [markdown]
# ## The Trainer's meter
#
# This lesson's technique has no Trainer form, but the Trainer reports its own times: `train_runtime` and
# `train_samples_per_second`. What do they count? The cell compares them with the bare step.

# %%
from transformers import Trainer, TrainingArguments

from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, plain_trainer_arguments, tokenize_pairs

pairs = tokenize_pairs(make_sentence_pairs(pairs=64), make_tokenizer())
model = make_pair_classifier().to(device)
arguments = TrainingArguments(**plain_trainer_arguments(device) | {"per_device_train_batch_size": 8})
trainer = Trainer(model, arguments, train_dataset=pairs)
metrics = trainer.train().metrics
batch = {name: values.to(device) for name, values in next(iter(torch.utils.data.DataLoader(pairs, 8))).items()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def bare_step():
    optimizer.zero_grad()
    model(**batch).loss.backward()
    optimizer.step()


bare = 8 / seconds_of(bare_step)
print(f"train_runtime {format_seconds(metrics['train_runtime'])}, total_flos {trainer.state.total_flos:.3g}")
print(f"train_samples_per_second {metrics['train_samples_per_second']:,.0f}, the bare step {bare:,.0f}")

# %% [markdown]
# `train_runtime` is the wall-clock time from before the first batch until after the last. It includes starting the
# loader's workers, the warm-up step, loading, and any logging, evaluation and saving during the run, but not creating
# the loader and the optimizer, imports, or loading the model. In a short run this overhead dominates; in a long one the
# rate approaches that of a step *including* loading. So it is the right meter for a bill and the wrong one for a
# kernel. To compare two settings, run both equally long, and long enough.

# %% [markdown]
# ## The price: choosing a device
#
# The table lists peak rates of dense products (datasheets often print twice as much, "with sparsity"); 16-bit formats
# accumulate their sums in fp32. The ridge says how many FLOPs a kernel needs per byte before the FLOP/s matter.

# %%
DEVICES = {  # TFLOP/s, format, GB/s, GB, W
    "K80 (2014), each chip": (4.4, "fp32", 240, 12, 150),
    "V100 SXM2 32 GB (2018)": (125, "fp16", 900, 32, 300),
    "T4 (2018)": (65, "fp16", 320, 16, 70),
    "A100 SXM 80 GB (2020)": (312, "bf16", 2_039, 80, 400),
    "RTX 4090 (2022)": (165, "bf16", 1_008, 24, 450),
    "H100 SXM (2022)": (989, "bf16", 3_350, 80, 700),
    "L4 (2023)": (121, "bf16", 300, 24, 72),
    "H200 SXM (2024)": (989, "bf16", 4_800, 141, 700),
    "B200 in HGX (2025)": (2_250, "bf16", 8_000, 180, 1_000),
}
print(f"{'':<23} TFLOP/s format   GB/s   GB     W  ridge  GFLOP/J")
for name, (teraflops, number, bandwidth, memory, watts) in DEVICES.items():
    facts = f"{name:<23} {teraflops:>7,} {number:>6} {bandwidth:>6,} {memory:>4} {watts:>5,}"
    print(f"{facts} {1e3 * teraflops / bandwidth:>6.0f} {1e3 * teraflops / watts:>8,.0f}")

# %% [markdown]
# Read the table in the order of what would stop you. Does the job fit (GB)? Does the device support the format (a V100
# and a T4 have no bf16)? Is the job memory bound (then compare GB/s)? Only then compare TFLOP/s.
#
# **A bill** needs three numbers: FLOPs, MFU, and the price per hour. Here they are for 124 million parameters and 2.5
# billion tokens, with assumptions that you should replace with your own:

# %%
flops, mfu, price_per_hour = 6 * 124e6 * 2.5e9, 0.4, 2.0  # assumed of every device: 40 %, and 2 dollars per hour
for name in ("T4 (2018)", "A100 SXM 80 GB (2020)", "H100 SXM (2022)"):
    teraflops, _, _, _, watts = DEVICES[name]
    hours = flops / (mfu * teraflops * 1e12) / 3600
    line = f"{hours:>5.1f} h, {hours * watts / 1e3:.2f} kWh at full power, {hours * price_per_hour:.1f} dollars"
    print(f"{name:<23} {line}")

# %% [markdown]
# The energy is that of the device alone; the host, the network and cooling add to it.
#
# Measuring has a price, too: `measure_step_time` adds the warm-up and the repetitions, but holds no memory. A profiler
# slows down each step and keeps every event in memory, so record a few steps after a warm-up, never a whole run.
#
# - **Use it when** a run is slow or expensive: first the MFU, then a trace of three steps, then the roofline of the
#   longest kernel.
# - **Do not** optimise a kernel before you know that the device is busy, and do not time without synchronising.
# - **Combine with** the memory meters: checkpointing costs up to a third more FLOPs, and accumulation makes kernels
#   smaller.

# %% [markdown] tags=["further"]
# ## Further: the MFU of a published run
#
# Reports give tokens per second, the number of devices and a model. From these, anyone can compute the MFU.
#
# **Exercise.** Compute it.
#
# *Contract.*
# - Count `6` FLOPs for each parameter and token, plus attention, forward and backward, with all scores of a sequence.
# - MFU counts what the model needs, not what an implementation repeats.
# - Divide by the *dense* peak. If `is_sparse`, the datasheet's figure assumes 2:4 sparsity, which doubles it.
# - Return a share, such as 0.46.

# %% tags=["given"]
from grader import check_utilization


# %% exercise="model_flops_utilization"
def model_flops_utilization(
    parameters: float,
    layers: int,
    width: int,
    time: int,
    tokens_per_second: float,
    devices: int,
    datasheet_flops_per_second: float,
    is_sparse: bool,
    is_checkpointed: bool,
) -> float:
    """Model FLOPs utilization of a training run.

    Args:
        parameters: Of the model.
        layers: Blocks.
        width: Heads times features of a head.
        time: Positions of a sequence.
        tokens_per_second: Of all devices together.
        devices: How many.
        datasheet_flops_per_second: Peak of one device.
        is_sparse: Whether that peak assumes sparsity.
        is_checkpointed: Whether blocks were checkpointed.

    Returns:
        The share of the dense peak.
    """
    ### BEGIN SOLUTION
    token_flops = 6 * parameters + 12 * layers * width * time
    peak = devices * datasheet_flops_per_second / (2 if is_sparse else 1)
    return token_flops * tokens_per_second / peak
    ### END SOLUTION


# %%
def show_palm():
    palm = model_flops_utilization(540.35e9, 118, 48 * 256, 2048, 238_300, 6144, 275e12, False, True)
    print(f"PaLM 540B on 6,144 TPU v4: MFU {palm:.1%} (published: 46.2%)")


look(show_palm)

# %% check="check_utilization" points=1
check_utilization(model_flops_utilization)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many FLOPs does attention take per token and layer in the forward pass? You have counted them above.<br>
# Then: of the nine arguments, which one must not change the result?
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Why does the backward pass take twice the FLOPs of the forward pass?</summary>
# Each product has two factors, and the gradient of each is a product of the same size.
# </details>
# <details><summary>A kernel is memory bound. Does a device with twice the FLOP/s make it faster?</summary>
# No: only more bandwidth or fewer bytes do.
# </details>
# <details><summary>The loader takes 60 % of the CPU's time. Is the run bound by data?</summary>
# Only if the device is idle meanwhile. If the CPU runs ahead, loading is hidden.
# </details>
#
# **Takeaway: ask first whether the device is busy, then what it is busy with.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 11, data loading.

# %% [markdown]
# **Sources**
# - [Roofline][roofline]: the model, its two roofs and the ridge.
# - [Data Movement Is All You Need][movement]: contractions, normalisations, element-wise operations.
# - [PaLM][palm]: MFU, its formula (appendix B) and 46.2 %.
# - Hugging Face guide *Efficient Training on a Single GPU* (v4.30): the V100's samples per second; backward as twice
#   forward; activations as bandwidth bound.
# - [NVIDIA, Matrix Multiplication Background][tiles]: tiles, waves, the A100's 108 multiprocessors.
# - [PyTorch, CUDA semantics][cuda]: asynchronous execution, events, graphs.
# - NVIDIA datasheets of the devices named; for the RTX 4090, the Ada architecture white paper.
#
# [roofline]: https://dl.acm.org/doi/10.1145/1498765.1498785
# [movement]: https://arxiv.org/abs/2007.00072
# [palm]: https://arxiv.org/abs/2204.02311
# [tiles]: https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
# [cuda]: https://docs.pytorch.org/docs/stable/notes/cuda.html
