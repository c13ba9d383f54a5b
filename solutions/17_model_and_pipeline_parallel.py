# %% [markdown]
# # 17. Model and pipeline parallel
#
# You train a model that no single device can hold: you cut it into stages, or cut its layers into shares. Then you cut
# a sequence that is too long for one device.
#
# 65 min (estimated) · CPU is enough · after lesson 16

# %% [markdown] objectives="1; 2; 3"
# **You will be able to**
# - predict the idle time and the memory of each stage of a pipeline, under three schedules;
# - split an MLP over ranks so that one all-reduce in each direction is enough;
# - write 1F1B on real ranks, with sends that cannot deadlock.

# %% tags=["given"]
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from grader import check_pipeline_predictions, format_bytes, look, look_at_ranks, run_ranks

print(f"measured on: processes of one machine, CPU, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 16: what do the ranks of local SGD average?</summary>
# Their weights and floating-point buffers, every few updates. Gradients and optimizer state stay on their rank.
# </details>
# <details><summary>Lesson 14: what does each rank send in a ring all-reduce of S bytes?</summary>
# 2 (N - 1) / N x S, a little less than 2 S however many ranks there are.
# </details>

# %% [markdown]
# **The problem.** A model of 7 billion parameters, trained with AdamW in mixed precision, holds 16 bytes for each of
# them (lesson 05), in total 112 GB. A device has 80 GB. You add seven more devices and use DistributedDataParallel.
# Does it fit now?
#
# No. Data parallel training gives each rank another part of the batch but **the whole model**, so each rank holds
# 112 GB. To make it fit, the ranks must share the model itself. Here are two ways to cut it, and a third cut for long
# sequences. Lesson 18 shards the model instead.

# %% [markdown]
# | cut | a rank holds | what is sent | name |
# |---|---|---|---|
# | between layers | some layers | the activation between two stages, and its gradient back | pipeline parallel |
# | inside a layer | some rows or columns of each weight | parts of sums | tensor parallel |
# | along the sequence | some positions, all weights | keys and values | context parallel |
#
# All of them are *model parallel* in a wide sense. In the narrow sense, that term means layers on several devices that
# work one after another. DistributedDataParallel is none of the three.

# %% [markdown]
# ## Stages, one micro-batch at a time
#
# A **stage** is a run of consecutive layers on one rank. An activation that a rank receives is a new tensor without a
# graph. Each rank therefore starts a graph of its own at `requires_grad_()`, and its backward pass starts from a
# gradient that the next rank sends. The following loop does this.
#
# `run_ranks` runs a function in one process per rank and shows what each prints. `look` and `look_at_ranks` do the same
# for what you write, ungraded.


# %% tags=["given"]
def train_one_by_one(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    """Run each micro-batch forward and backward through all stages before the next one."""
    for number in range(micro_batches):
        hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[number]
        output = stage(hidden)
        if rank < world_size - 1:
            send(output, rank + 1)
            output.backward(receive(rank + 1))
        else:
            (F.mse_loss(output, targets[number]) / micro_batches).backward()
        if rank > 0:
            send(hidden.grad, rank - 1)


# %% tags=["given"]
def make_stages():
    """Build seven layers in four stages of 2, 2, 2 and 1."""
    torch.manual_seed(0)
    return [nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(8, 8), nn.Tanh())]) for n in (2, 2, 2, 1)]


def make_micro_batches():
    generator = torch.Generator().manual_seed(1)
    return list(torch.randn(6, 4, 8, generator=generator)), list(torch.randn(6, 4, 8, generator=generator))


def train_stage(rank, world_size, send, receive, train):
    """Train one step on four ranks, and compare this rank's gradients with those of the whole model."""
    stage, (inputs, targets) = make_stages()[rank], make_micro_batches()
    own = inputs if rank == 0 else None, targets if rank == world_size - 1 else None
    train(stage, *own, len(inputs), rank, world_size, send, receive)
    stages = make_stages()
    F.mse_loss(nn.Sequential(*stages)(torch.cat(inputs)), torch.cat(targets)).backward()
    pairs = zip(stage.parameters(), stages[rank].parameters(), strict=True)
    off = max((one.grad - whole.grad).abs().max().item() for one, whole in pairs)
    print(f"{sum(one.numel() for one in stage.parameters())} parameters here, gradients differ by at most {off:.0e}")


# %%
print(run_ranks(train_stage, 4, train=train_one_by_one))

# %% [markdown]
# The gradients are equal, and no rank holds more than two layers. But each micro-batch goes through the four ranks and
# back alone, so three ranks are waiting at any time. A **schedule** defines the order in which a stage runs its
# forward and backward passes.

# %% [markdown]
# ## Predict: idle time and memory
#
# - **One by one**: as above.
# - **GPipe**: every stage runs all forward passes, then all backward passes, in the same order. (The paper's figure has
#   them in reverse order, which takes as long.)
# - **1F1B** (*one forward, one backward*): the last stage runs each micro-batch backward right after its forward pass.
#   Before its first backward pass, each earlier stage runs one forward pass more than the stage after it, or all of
#   them if there are fewer. From then on, it alternates forward and backward passes, until only backward passes are
#   left.

# %% [markdown]
# A pass starts as soon as its input has arrived and the stage is free. Sending takes no time.
#
# A micro-batch is **in flight** on a stage from its forward pass to the end of its backward pass: the stage holds its
# activations.

# %% [markdown]
# **Exercise.** Predict how long a stage is idle, and how much it holds. The stages are equal, with one exception: the
# last one also has the output layer, which in a language model is as large as several others.
#
# *Contract.*
# - For each micro-batch, every stage needs `forward` and `backward` seconds. The last one needs `head` seconds more,
#   for forward and backward together; how they are divided does not matter.
# - Return two numbers for stage `stage`, counted from 0: the share of the step's seconds in which it computes nothing,
#   and the most micro-batches that are in flight on it at any time.
#
# The check asks for all stages of nine pipelines.


# %% exercise="predict_pipeline"
def predict_pipeline(
    schedule: str, stages: int, micro_batches: int, forward: float, backward: float, head: float, stage: int
) -> tuple[float, int]:
    """Predict the idle share and the micro-batches in flight of one stage.

    Args:
        schedule: "one by one", "gpipe" or "1f1b".
        stages: Number of stages, each on a rank of its own.
        micro_batches: Micro-batches of one step; may be fewer than stages.
        forward: Seconds of one forward on a stage.
        backward: Seconds of one backward on a stage.
        head: Additional seconds of the last stage for each micro-batch.
        stage: Number of the stage.

    Returns:
        Idle share of the step, from 0 to 1, and the most micro-batches in flight.
    """
    ### BEGIN SOLUTION
    own = forward + backward
    last = own + head
    step = (stages - 1) * own + micro_batches * last
    if schedule == "one by one":
        step = micro_batches * ((stages - 1) * own + last)
    busy = micro_batches * (last if stage == stages - 1 else own)
    held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
    return 1 - busy / step, held[schedule]
    ### END SOLUTION


# %%
def show_pipelines():
    print("4 stages, forward 1 s, backward 2 s; in flight: on stage 0, 1, 2, 3")
    for head in (0.0, 1.5):
        for schedule, micro_batches in (("one by one", 4), ("gpipe", 4), ("1f1b", 4), ("gpipe", 16), ("1f1b", 16)):
            stages = [predict_pipeline(schedule, 4, micro_batches, 1.0, 2.0, head, stage) for stage in range(4)]
            shares = ", ".join(f"{idle:.1%}" for idle, _ in (stages[0], stages[3]))
            held = ", ".join(str(number) for _, number in stages)
            print(
                f"head {head} s, {schedule:<10} m = {micro_batches:>2}: first and last idle {shares}; in flight {held}"
            )


look(show_pipelines)

# %% check="check_pipeline_predictions" points=2
check_pipeline_predictions(predict_pipeline)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw three stages as rows and three micro-batches as boxes, for GPipe and for 1F1B. When does the last box
# end? Which row has no gap in the middle?<br>
# Then: the last stage starts when the first micro-batch has reached it. From then on, what can keep it waiting? And
# what is left to do when it has finished?
# </details>

# %% [markdown]
# **Investigate.** Take p stages and m micro-batches, without an output layer. The last stage waits for p - 1 forward
# passes, is busy for m forward and backward passes, and then p - 1 backward passes follow. The idle share, the
# **bubble**, is therefore
#
# `(p - 1) / (m + p - 1)`
#
# on every stage, under GPipe and 1F1B alike, whatever a pass costs: 42.9 % at p = m = 4, 15.8 % at m = 16. In words:
# *the bubble is p - 1 micro-batches long, and more micro-batches make it a smaller share.*
#
# 1F1B saves **memory**: stage s holds at most p - s micro-batches, where GPipe holds m. That makes a large m, and so a
# small bubble, affordable. (Some papers divide the bubble by the busy time: (p - 1) / m.)

# %% [markdown]
# **Modify.** An output layer of half a stage's work leaves all other stages idle for at least a third of the time,
# because the slowest stage sets the pace. Frameworks therefore give the last stage fewer layers.
#
# On 8 devices, p = m = 8 gives a bubble of 46.7 %. Now a step has twice as many micro-batches. Which bubble is smaller:
# that of the same 8 stages with m = 16, or that of two copies of the model, each with p = 4 stages of twice the size
# and m = 8? Guess first, then change the numbers in the cell above.
#
# <details><summary>Answer</summary>
# 30.4 % with 8 stages, 27.3 % with 4. Fewer stages win, if they fit: each device holds twice as many weights.
# </details>

# %% [markdown]
# ## Complete: tensor parallel
#
# Now cut *inside* a layer. An MLP is `down(gelu(up(x)))`, and every rank has the whole `x`. The weight of a linear
# layer is [outputs, inputs], so there are two cuts:
#
# - along its **outputs** (called *column parallel*, after the transposed weight): a rank computes some of the outputs;
# - along its **inputs** (*row parallel*): a rank needs only some of the inputs, and computes a part of the sum of
#   every output.
#
# GELU of a sum is not the sum of GELUs. Which layer takes which cut, so that nothing has to be exchanged between them?

# %% [markdown]
# Autograd does not record `dist.all_reduce`: gradients pass as if it were not there. `at_boundary` lets you choose both
# directions: it applies one function to a tensor in the forward pass, and another one to its gradient in the backward
# pass.


# %% tags=["given"]
def at_boundary(tensor, in_forward, in_backward):
    """Return in_forward(tensor); in the backward pass, its gradient becomes in_backward(gradient)."""

    class Boundary(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor):
            return in_forward(tensor)

        @staticmethod
        def backward(ctx, gradient):
            return in_backward(gradient)

    return Boundary.apply(tensor)


def unchanged(tensor):
    return tensor.view_as(tensor)


def sum_over_ranks(tensor):
    total = tensor.clone()
    dist.all_reduce(total)
    return total


# %% tags=["given"]
def copy_linear(weight, bias):
    """Return a linear layer with copies of a weight [outputs, inputs] and a bias [outputs]."""
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


# %% [markdown]
# **Exercise.** Complete the block of one rank.
#
# *Contract.*
# - On every rank, the output, the gradient of the input, and the gradients of the rank's own parameters equal those of
#   the whole MLP.
# - `up` and `down` are linear layers with the rank's share of the inner features, cut by `tensor_split`; shares may
#   differ by one. On every rank, `down.bias` is the whole bias.
# - Use one all-reduce of the output's size in forward, one of the input's size in backward, nothing else. No rank
#   keeps or computes with a whole weight.
#
# The check runs on 2 and 3 ranks.

# %% tags=["given"]
from grader import check_split_share, check_split_values


# %% exercise="split_mlp"
class SplitMLP(nn.Module):
    """One rank's share of an MLP."""

    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        ### BEGIN SOLUTION
        self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
        self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
        ### END SOLUTION

    def forward(self, hidden):
        """Run the block on hidden [..., width]."""
        ### BEGIN SOLUTION
        hidden = at_boundary(hidden, unchanged, sum_over_ranks)
        partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
        return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
        ### END SOLUTION


def split_mlp(mlp, rank: int, world_size: int) -> nn.Module:
    """Return this rank's share of an MLP.

    Args:
        mlp: nn.Sequential of a linear layer, an element-wise activation and a linear layer; equal on all ranks.
        rank: Number of this rank.
        world_size: How many ranks.

    Returns:
        A module with linear layers `up` and `down`, called on inputs [..., width].
    """
    return SplitMLP(mlp, rank, world_size)


# %%
def compare_split(rank, world_size, split):
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    hidden = torch.randn(8, 64, requires_grad=True)
    whole = mlp(hidden)
    wanted = torch.autograd.grad(whole.square().sum(), hidden)[0]
    block = split(mlp, rank, world_size)
    output = block(hidden)
    output.square().sum().backward()
    off = [(one - other).abs().max().item() for one, other in ((output, whole), (hidden.grad, wanted))]
    print(f"parameters {sum(one.numel() for one in block.parameters()):,} of 33,088; {off[0]:.0e}, {off[1]:.0e} off")


print(look_at_ranks(compare_split, 4, split=split_mlp) or "")

# %% check="check_split_values" points=2 tags=["needs-loopback"]
check_split_values(split_mlp)

# %% check="check_split_share" points=2 tags=["needs-loopback"]
check_split_share(split_mlp)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: follow a single inner feature. Which row of `up` computes it, and which column of `down` reads it?<br>
# Then: in the forward pass, what do two ranks hold after the second layer? In the backward pass, what do two ranks
# hold at the block's input? How often may a bias count?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does the input need an all-reduce only in backward?</summary>
# Every rank reads the whole input, so the input affects the loss through all ranks, and its gradient is the sum of
# what comes back from each.
# </details>
#
# **Attention** is cut in the same way, by heads: each rank has the rows of the query, key and value weights that
# belong to its heads, and the matching columns of the output weight. Heads exchange nothing before that last layer.


# %%
def attend_with_heads(hidden, inner, outer, heads):
    """Compute attention with weights inner [3, heads * 16, width] and outer [width, heads * 16]."""
    query, key, value = ((hidden @ weight.T).unflatten(1, (heads, 16)).transpose(0, 1) for weight in inner)
    return F.scaled_dot_product_attention(query, key, value).transpose(0, 1).flatten(1) @ outer.T


def compare_attention(rank, world_size):
    torch.manual_seed(0)
    hidden, inner, outer = torch.randn(10, 64), torch.randn(3, 64, 64) / 8, torch.randn(64, 64) / 8
    whole = attend_with_heads(hidden, inner, outer, 4)
    share = inner.chunk(world_size, dim=1)[rank], outer.chunk(world_size, dim=1)[rank]
    output = sum_over_ranks(attend_with_heads(hidden, *share, 4 // world_size))
    print(f"{4 // world_size} of 4 heads, differs by at most {(output - whole).abs().max().item():.0e}")


print(run_ranks(compare_attention, 2))

# %% [markdown]
# **Sequence parallel.** Between two cut blocks, each rank repeats the same norm, dropout and residual on *all*
# positions, and keeps their activations. Sequence parallel replaces the all-reduce by its two halves (lesson 14): a
# reduce-scatter leaves each rank a share of the positions, and an all-gather precedes the next block. The bytes sent
# stay the same, but the activations between the blocks shrink to 1 / N.
#
# A transformer layer has two such blocks, attention and MLP. A step therefore makes **four all-reduces for each layer
# and micro-batch**, and with these blocks no rank can compute while it waits for one.

# %% [markdown]
# ## Write: 1F1B on real ranks
#
# Here `send` returns at once. On GPUs it may not: a send may wait until the other side receives. An order that works
# today can then hang tomorrow. `replay_waiting` replays what the ranks did, as if every send waited.


# %% tags=["given"]
def replay_waiting(traffic):
    """Return for each blocked rank the message at which it waits for ever, if every send waits for its receiver."""
    left = [[event[:2] for event in one.events] for one in traffic]
    has_moved = True
    while has_moved:
        has_moved = False
        for rank, events in enumerate(left):
            if events and events[0][0] == "send":
                other = left[events[0][1]]
                if other and other[0] == ("receive", rank):
                    events.pop(0), other.pop(0)
                    has_moved = True
    return {rank: f"{events[0][0]}, rank {events[0][1]}" for rank, events in enumerate(left) if events}


# %%
def swap_numbers(rank, send, receive, is_careful):
    own, other = torch.tensor([rank]), 1 - rank
    if is_careful and rank == 1:
        received = receive(other)
        send(own, other)
    else:
        send(own, other)
        received = receive(other)
    return received


for is_careful in (False, True):
    run = run_ranks(swap_numbers, 2, is_careful=is_careful)
    print(f"careful: {is_careful}, swapped: {run.returned[0].item()} and {run.returned[1].item()}")
    print(f"if sends wait: {replay_waiting(run.traffic) or 'it ends'}")

# %% [markdown]
# In the middle of 1F1B, a rank has an output for the next rank, and that rank has a gradient for it. This is a swap,
# and it happens between each pair of neighbours in every round.
#
# **Exercise.** Write one step of 1F1B.
#
# *Contract.*
# - Every parameter ends with the gradient of the loss averaged over micro-batches (`F.mse_loss`; all have the same
#   number of rows). Call `stage` once for each micro-batch.
# - Forward and backward passes run in the order of 1F1B; rank r holds at most `world_size - r` micro-batches. Keep no
#   input or output of the stage after its backward pass.
# - Use `send` and `receive` alone; each activation and each gradient is sent once. The step must end even if sends
#   wait.

# %% [markdown]
# The check runs on 3 and 4 ranks, with uneven stages, and with fewer micro-batches than ranks. It compares the
# gradients, the order of the passes and what is held, and it replays the messages.

# %% tags=["given"]
from grader import check_pipeline_gradients, check_pipeline_schedule


# %% exercise="train_1f1b"
def train_1f1b(stage, inputs, targets, micro_batches: int, rank: int, world_size: int, send, receive) -> None:
    """Run one step of 1F1B on this rank.

    Args:
        stage: This rank's layers, called on hidden [rows, features].
        inputs: The inputs of all micro-batches on rank 0; None elsewhere.
        targets: The targets of all micro-batches on the last rank; None elsewhere.
        micro_batches: How many.
        rank: Number of this rank, and of its stage.
        world_size: How many ranks, 2 or more.
        send: send(tensor, destination).
        receive: receive(source) returns a tensor.
    """
    is_last = rank == world_size - 1
    in_flight = []
    ### BEGIN SOLUTION
    ahead = min(world_size - 1 - rank, micro_batches)
    for step in range(micro_batches + ahead):
        if step < micro_batches:
            hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[step]
            output = stage(hidden)
            in_flight.append((hidden, F.mse_loss(output, targets[step]) / micro_batches if is_last else output))
        gradient = receive(rank + 1) if step >= ahead and not is_last else None
        if step < micro_batches and not is_last:
            send(output, rank + 1)
        if step >= ahead:
            hidden, output = in_flight.pop(0)
            output.backward(gradient)
            if rank > 0:
                send(hidden.grad, rank - 1)
    ### END SOLUTION


# %%
run = look_at_ranks(train_stage, 4, train=train_1f1b)
if run:
    print("if sends wait:", replay_waiting(run.traffic) or "it ends")

# %% check="check_pipeline_gradients" points=2 tags=["needs-loopback"]
check_pipeline_gradients(train_1f1b)

# %% check="check_pipeline_schedule" points=3 tags=["needs-loopback"]
check_pipeline_schedule(train_1f1b)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for 4 micro-batches, write down what each of 3 ranks runs, in letters such as F0 F1 F2 B0. Which micro-batch
# does a backward pass take?<br>
# Then: one loop is enough, with a forward pass in all rounds but the last ones and a backward pass in all rounds but
# the first ones. Between a forward pass and its send, what could the rank receive?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why may a rank receive the gradient before it sends its output?</summary>
# The gradient belongs to an older micro-batch, which the next rank already has, so the next rank does not need the new
# output to send it.
# </details>

# %% [markdown]
# **Run.** Next, look at your own schedule over time. The stages sleep, 40 ms in the forward and 80 ms in the backward
# pass, so that four of them work in parallel even on one core. GPipe is given below for comparison.


# %%
def train_gpipe(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    """Run all forward passes, then all backward passes."""
    is_last, in_flight = rank == world_size - 1, []
    for number in range(micro_batches):
        hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[number]
        output = stage(hidden)
        if is_last:
            output = F.mse_loss(output, targets[number]) / micro_batches
        else:
            send(output, rank + 1)
        in_flight.append((hidden, output))
    for hidden, output in in_flight:
        output.backward(None if is_last else receive(rank + 1))
        if rank > 0:
            send(hidden.grad, rank - 1)


# %%
def nap(hidden, notes):
    """Sleep 40 ms in forward and 80 ms in backward; note the pass, its micro-batch, its start and its end."""
    number = sum(kind == "F" for kind, *_ in notes)

    def sleep(kind, seconds, tensor):
        start = time.monotonic()
        time.sleep(seconds)
        notes.append([kind, number, start, time.monotonic()])
        return tensor.clone()

    return at_boundary(hidden, lambda tensor: sleep("F", 0.04, tensor), lambda tensor: sleep("B", 0.08, tensor))


# %%
def note_times(rank, world_size, send, receive, train, micro_batches):
    notes, layer, rows = [], nn.Linear(8, 8), list(torch.randn(micro_batches, 4, 8))
    layer(rows[0]).sum().backward()  # the first backward of a process takes longer
    dist.barrier()
    own = rows if rank == 0 else None, rows if rank == world_size - 1 else None
    train(lambda hidden: nap(layer(hidden), notes), *own, micro_batches, rank, world_size, send, receive)
    return notes


def count_in_flight(notes):
    """Return the most micro-batches that were in flight: forward pass done, backward pass not."""
    held = [0]
    for kind, *_ in notes:
        held.append(held[-1] + (1 if kind == "F" else -1))
    return max(held)


# %%
import io

from IPython.display import Image, display
from matplotlib.figure import Figure


def draw_timeline(name, ranks):
    figure, first = Figure(figsize=(9, 2.6), layout="constrained"), min(notes[0][2] for notes in ranks)
    axes, picture = figure.subplots(), io.BytesIO()
    for rank, notes in enumerate(ranks):
        for kind, number, start, end in notes:
            colour, hatch = ("#56B4E9", "") if kind == "F" else ("#E69F00", "//")
            place = 1e3 * (start - first), 1e3 * (end - start)
            axes.broken_barh([place], (rank - 0.4, 0.8), facecolor=colour, hatch=hatch, edgecolor="black")
            axes.text(place[0] + place[1] / 2, rank, f"{kind}{number}", ha="center", va="center", backgroundcolor="w")
    axes.set(title=name, xlabel="milliseconds", ylabel="rank", yticks=range(len(ranks)), ylim=(len(ranks) - 0.5, -0.5))
    figure.savefig(picture, format="png", dpi=90)
    display(Image(picture.getvalue(), alt=f"Forwards and backwards of each rank over time, {name}; listed below"))


# %%
def report_schedule(name, train, micro_batches=4):
    run = look_at_ranks(note_times, 4, train=train, micro_batches=micro_batches)
    if not run:
        return
    draw_timeline(f"{name}, 4 stages, {micro_batches} micro-batches", run.returned)
    step = max(notes[-1][3] for notes in run.returned) - min(notes[0][2] for notes in run.returned)
    for rank, notes in enumerate(run.returned):
        busy = sum(end - start for *_, start, end in notes)
        order = " ".join(f"{kind}{number}" for kind, number, *_ in notes)
        print(f"rank {rank}: {order:<24} idle {1 - busy / step:.0%}, {count_in_flight(notes)} in flight")
    predicted = look(lambda: [predict_pipeline(name, 4, micro_batches, 0.04, 0.08, 0.0, rank) for rank in range(4)])
    print(f"step time {step * 1e3:.0f} ms;", "predicted:", [f"{idle:.0%}, {held}" for idle, held in predicted or []])


report_schedule("one by one", train_one_by_one)

# %%
report_schedule("gpipe", train_gpipe)

# %%
report_schedule("1f1b", train_1f1b)

# %% [markdown]
# The steps of GPipe and 1F1B take about the same time: 1F1B has its gaps in other places, but no fewer of them. A step
# takes somewhat longer than predicted, because real messages and Python take time, too. The last figure shows why rank
# 3 needs the memory of one micro-batch only: each F is followed by its B.

# %% [markdown]
# **Schedules by name**
# - **PipeDream** ran 1F1B without waiting at the end of a step, with several versions of the weights. What is called
#   1F1B today is *PipeDream-Flush*, which drains the pipeline before each update.
# - **Interleaved 1F1B** gives each rank v smaller stages that are not adjacent. The bubble shrinks to 1 / v of its
#   length, but there are v times as many messages, and more activations are held.
# - **Zero bubble** splits a backward pass into two parts: the gradient of the input, for which the neighbour waits,
#   and that of the weights, which can fill gaps. *DualPipe* also runs micro-batches from both ends, so each rank holds
#   two stages.

# %% [markdown]
# ## The same with PyTorch
#
# **DTensor** describes a cut as the *placement* of a tensor: `Shard(0)`, `Shard(1)`, `Replicate()`, or `Partial()`, a
# part of a sum. You give `parallelize_module` a plan, and the collectives follow from it. `ColwiseParallel` and
# `RowwiseParallel` are the two cuts above. `CommDebugMode` counts the collectives.


# %%
def compare_dtensor(rank, world_size, split):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(0)
    mlp, hidden = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)), torch.randn(8, 64)
    own, hidden = split(mlp, rank, world_size), hidden.requires_grad_()
    parallelize_module(mlp, init_device_mesh("cpu", (world_size,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    gradients = []
    for block in (own, mlp):
        hidden.grad = None
        with CommDebugMode() as counted:
            block(hidden).square().sum().backward()
        gradients.append(hidden.grad)
    calls = {str(name).split(".")[-1]: count for name, count in counted.get_comm_counts().items()}
    off = (gradients[0] - gradients[1]).abs().max().item()
    print(f"{mlp[0].weight.placements}, here {tuple(mlp[0].weight.to_local().shape)}; {calls}; differs by {off:.0e}")


run = look_at_ranks(compare_dtensor, 2, split=split_mlp)

# %% [markdown]
# PyTorch's block also makes two all-reduces, one in each direction, so it is the same block as yours. For pipelines
# there is `torch.distributed.pipelining`: `PipelineStage` wraps a stage, and a schedule runs it. In addition to
# `Schedule1F1B`, it has `ScheduleGPipe`, `ScheduleInterleaved1F1B` and `ScheduleZBVZeroBubble`.


# %%
def train_with_pytorch(rank, world_size):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    stage, (inputs, targets) = make_stages()[rank], make_micro_batches()
    wrapped = PipelineStage(stage, rank, world_size, torch.device("cpu"))
    schedule = Schedule1F1B(wrapped, len(inputs), loss_fn=F.mse_loss)
    schedule.step(
        *([torch.cat(inputs)] if rank == 0 else []),
        **({"target": torch.cat(targets)} if rank == world_size - 1 else {}),
    )
    stages = make_stages()
    F.mse_loss(nn.Sequential(*stages)(torch.cat(inputs)), torch.cat(targets)).backward()
    pairs = zip(stage.parameters(), stages[rank].parameters(), strict=True)
    print(f"gradients differ by at most {max((one.grad - all_.grad).abs().max().item() for one, all_ in pairs):.0e}")


run = run_ranks(train_with_pytorch, 4)

# %% [markdown]
# The schedule itself divides by the number of micro-batches (`scale_grads=True`). Neither Accelerate nor the Trainer
# has a schedule of its own for training; Accelerate can train with that of Megatron-LM (`pp_degree`). Its
# `ParallelismConfig` takes a `tp_size`, for transformers models with a `tp_plan` of such placements, and a `cp_size`,
# for PyTorch's context parallel.
#
# ## The price: which cut for which link?
#
# The next cell computes what a rank sends in one step of a 70-billion-parameter model with 80 layers of width 8,192 on
# 8 ranks, with 8 micro-batches of 8,192 tokens in bf16. The last column is the compute time of that step on 8 H100, at
# 40 % of their peak.

# %%
width, tokens, layers, parameters, ranks, micro_batches = 8192, 8192, 80, 70e9, 8, 8
activation_bytes, ring = 2 * width * tokens, 2 * (ranks - 1) / ranks
sent_bytes = {
    "tensor parallel": 4 * layers * micro_batches * ring * activation_bytes,
    "pipeline parallel": 2 * micro_batches * activation_bytes,
    "data parallel": 2 * parameters * ring,
}
links = {"NVLink": 450e9, "PCIe 5": 64e9, "400 Gbit/s": 50e9, "25 Gbit/s": 25e9 / 8}  # bytes per second and direction
compute_seconds = 6 * parameters * tokens * micro_batches / ranks / (0.4 * 989e12)
print(f"{'seconds on':<18} {'sent':>10} ", *(f"{name:>11}" for name in links), f"{'compute':>9}")
for name, byte_count in sent_bytes.items():
    seconds = " ".join(f"{byte_count / rate:>11.3f}" for rate in links.values())
    print(f"{name:<18} {byte_count / 1e9:>7.1f} GB  {seconds} {compute_seconds:>9.1f}")

# %% [markdown]
# Tensor parallel sends 280 times as much as a pipeline, and the ranks wait for every byte, so it belongs on NVLink,
# inside a node. A pipeline sends so little that Ethernet is enough, so it goes between nodes. Data parallel sends the
# same amount whatever the micro-batches are, and overlaps with the backward pass (lesson 15); here it would not even
# fit.
#
# | | tensor | pipeline | data |
# |---|---|---|---|
# | weights, gradients, state of a rank | 1 / N | 1 / N | all |
# | activations of a rank | mostly 1 / N | up to p micro-batches of 1 / p of the layers | of its part of the batch |
# | idle | while it waits for sums | (p - 1) / (m + p - 1) | hardly |

# %% [markdown]
# - **Use it when** weights, gradients and optimizer state do not fit on one device, and sharding (lesson 18) is not
#   enough or sends too much.
# - **Do not** cut a model that fits: splitting the batch is the cheapest cut.
# - **Combine with** each other: tensor parallel inside a node, stages between nodes, data parallel over copies of
#   both. Combine a pipeline with more micro-batches, and 1F1B with checkpointing (lesson 03).

# %% [markdown] tags=["further"]
# ## Further: context parallel
#
# The activations of a million positions do not fit, even if the weights do. So cut the positions: rank r has the
# queries, keys and values of its own positions. Only attention looks across the cut, because a query needs all keys.
# But softmax can be computed share by share and **merged**, as with the tiles of lesson 12: keep an output and the
# logsumexp of all scores so far.
#
# The keys and values can therefore be passed round a ring. Every rank merges the share that it has and passes it on.
# This is *ring attention*.

# %% tags=["given"]
from grader import check_context_parallel


# %% tags=["given"]
def merge_share(output, logsumexp, scores, value):
    """Merge scores [heads, queries, keys] of a share into output and logsumexp [heads, queries, 1]; return both."""
    merged = torch.logaddexp(logsumexp, scores.logsumexp(dim=-1, keepdim=True))
    output = (logsumexp - merged).exp() * output + (scores - merged).exp() @ value
    return output, merged


# %% [markdown]
# **Exercise.** Write attention over a sequence that the ranks share.
#
# *Contract.*
# - Return the output of the rank's own queries, which attend to the positions of **all** ranks, without a mask. It
#   equals `F.scaled_dot_product_attention` on the whole sequence to 1e-9, in float64.
# - Use `send` and `receive` alone. Send keys and values to one neighbour only, N - 1 shares of both.
# - Merge share by share: hold at most two received shares at once, the one you merge and the next one.
#
# The check runs on 3 and 4 ranks, with uneven shares and large scores.


# %% exercise="attend_in_ring"
def attend_in_ring(query, key, value, rank: int, world_size: int, send, receive) -> torch.Tensor:
    """Compute exact attention of this rank's queries to the keys of all ranks.

    Args:
        query: [heads, own positions, head_dim].
        key: The same shape.
        value: The same shape.
        rank: Number of this rank.
        world_size: How many ranks.
        send: send(tensor, destination).
        receive: receive(source) returns a tensor.

    Returns:
        The output, in the shape of the query.
    """
    output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
    ### BEGIN SOLUTION
    for step in range(world_size):
        scores = query @ key.mT * query.shape[-1] ** -0.5
        output, logsumexp = merge_share(output, logsumexp, scores, value)
        if step < world_size - 1:
            send(torch.stack([key, value]), (rank + 1) % world_size)
            key, value = receive((rank - 1) % world_size)
    ### END SOLUTION
    return output


# %%
def compare_ring(rank, world_size, send, receive, attend):
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(3, 2, 96, 16, generator=generator, dtype=torch.float64)
    output = attend(*whole.tensor_split(world_size, dim=2)[rank], rank, world_size, send, receive)
    wanted = F.scaled_dot_product_attention(*whole).tensor_split(world_size, dim=1)[rank]
    print(f"{output.shape[1]} of 96 positions, differs by at most {(output - wanted).abs().max().item():.0e}")


print(look_at_ranks(compare_ring, 4, attend=attend_in_ring) or "")

# %% check="check_context_parallel" points=2 tags=["needs-loopback"]
check_context_parallel(attend_in_ring)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: with 3 ranks, which keys does rank 0 hold in each of three rounds?<br>
# Then: merge first, pass on afterwards, and do not pass on in the last round.
# </details>

# %% [markdown]
# In each round, the message can overlap with the product, so for long sequences the ring costs little time. Under a
# **causal mask** the first rank needs only its own keys, but the last one needs all of them. To balance the work, each
# rank takes one slice from the start and one from the end of the sequence.

# %%
for ranks in (4, 8):
    share_bytes = 2 * 2 * 1_000_000 // ranks * 8 * 128  # key and value, bf16, 8 heads of 128
    sent = (ranks - 1) * share_bytes
    print(f"a million positions on {ranks} ranks: {format_bytes(sent)} sent by each, for each layer's forward")

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>What does 1F1B save compared with GPipe: time or memory?</summary>
# Memory: at most p micro-batches in flight instead of m. The bubble is the same.
# </details>
# <details><summary>Which cut comes first in an MLP, and where are its two all-reduces?</summary>
# Along the outputs, then along the inputs; after the second layer in forward, after the first one in backward.
# </details>
# <details><summary>Which cut needs the fastest link, and why?</summary>
# Tensor parallel: four all-reduces of an activation per layer and micro-batch, and the ranks wait for each.
# </details>
#
# **Takeaway: cut inside a layer where links are fast, between layers where they are slow, and keep m well above p.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 18, sharding.

# %% [markdown]
# **Sources**
# - [GPipe][gpipe]: stages and micro-batches. [PipeDream][pipedream], [PipeDream-2BW][flush]: 1F1B, and with a flush.
# - [Megatron-LM][megatron]: column, then row. [Narayanan and others][clusters]: tensor parallel inside a node, the
#   interleaved schedule, the bubble over the busy time. [Korthikanti and others][sequence]: sequence parallel.
# - [Zero bubble][zero]; [DeepSeek-V3][dualpipe]: DualPipe. [Ring attention][ring].
# - [PyTorch, tensor parallel][dtensor] and [pipelining][pipelining].
# - [NVIDIA H100][h100]: NVLink 900 GB/s and PCIe 128 GB/s, both directions together; 989 TFLOP/s in bf16.
#
# [gpipe]: https://arxiv.org/abs/1811.06965
# [pipedream]: https://arxiv.org/abs/1806.03377
# [flush]: https://arxiv.org/abs/2006.09503
# [megatron]: https://arxiv.org/abs/1909.08053
# [clusters]: https://arxiv.org/abs/2104.04473
# [sequence]: https://arxiv.org/abs/2205.05198
# [zero]: https://arxiv.org/abs/2401.10241
# [dualpipe]: https://arxiv.org/abs/2412.19437
# [ring]: https://arxiv.org/abs/2310.01889
# [dtensor]: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
# [pipelining]: https://docs.pytorch.org/docs/stable/distributed.pipelining.html
# [h100]: https://www.nvidia.com/en-us/data-center/h100/
