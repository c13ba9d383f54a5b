# %% [markdown]
# # 14. Collectives
#
# You add up the tensors of several processes in four ways, count what each way sends, and say which one is fastest
# when.
#
# 60 min (estimated) · CPU is enough · after lesson 08

# %% [markdown] objectives="1; 2 3; 4"
# **You will be able to**
# - predict the rounds and the bytes of four all-reduces;
# - complete the butterfly, and write the ring, in which no rank sends two whole tensors, however many ranks there are;
# - find the rank at fault, and what it did, when collectives hang.

# %% tags=["given"]
import time

import torch
import torch.distributed as dist

from grader import (
    MIB,
    check_all_reduce_costs,
    check_hang_diagnoses,
    format_bytes,
    format_seconds,
    look,
    look_at_ranks,
    predict_seconds,
    run_ranks,
    say_counts,
)

print(f"measured on: processes of one machine, CPU, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Four micro-batches of equal size make a batch. How do you get its gradient from theirs?</summary>
# It is the mean of their four gradients: each loss is divided by 4, and the gradients add up.
# </details>
# <details><summary>Why does AdamW hide a gradient that is 4 times too large?</summary>
# It divides the mean of the gradients by the root of their mean square, so a constant factor cancels.
# </details>

# %% [markdown]
# **The problem.** Eight devices hold the same DistilBERT, and each reads different examples. So each has its own
# gradient of 65,783,042 numbers, 250.9 MiB.
#
# Before the update, each device needs the sum of all eight gradients. One device can collect them and send the sum
# back, but then it sends seven copies, 1.7 GiB, while the others wait. How few bytes can a device send, and how few
# times must it wait?

# %% [markdown]
# ## Processes that talk
#
# A **rank** is a process with a number, from 0 to `world_size - 1`. `run_ranks(function, world_size)` runs a function
# in real processes on this machine. It passes those of these parameters that the function names:
#
# | parameter | is |
# |---|---|
# | `rank`, `world_size` | the number of this process, and how many there are |
# | `send(tensor, destination)` | sends a copy, and continues at once |
# | `receive(source)` | waits for the next tensor from that rank, and returns it |
#
# Ranks share no memory. Whatever the function uses reaches them in a file: imports, other functions, plain numbers. A
# tensor, a model or a lambda of the notebook cannot be written there. Pass a tensor as an argument, or create it inside
# the function.


# %%
def pass_to_the_right(rank, world_size, send, receive):
    send(torch.tensor([rank]), (rank + 1) % world_size)
    received = receive((rank - 1) % world_size)
    print(f"received {received.item()}")


run = run_ranks(pass_to_the_right, 4)
print(run)

# %% [markdown]
# The table counts real messages. The file `ranks/pass_to_the_right.py`, which is now next to this notebook, is what the
# four processes imported.
#
# All four messages were under way at the same time. That is one **round**: in a round, each rank can send one message
# and receive one, all in parallel.

# %% [markdown]
# ## All-reduce, the naive way
#
# An **all-reduce** gives every rank the sum of the tensors of all ranks. The naive way, shown here in full, goes
# through rank 0.


# %% tags=["given"]
def all_reduce_naive(tensor, rank, world_size, send, receive):
    if rank > 0:
        send(tensor, 0)
        return receive(0)
    total = tensor.clone()
    for other in range(1, world_size):
        total += receive(other)
    for other in range(1, world_size):
        send(total, other)
    return total


def add_up(rank, world_size, send, receive, all_reduce, elements):
    """Rank r gives 16**r in each element."""
    tensor = torch.full((elements,), 16.0**rank, dtype=torch.float64)
    return all_reduce(tensor, rank, world_size, send, receive)


# %%
run = run_ranks(add_up, 4, all_reduce=all_reduce_naive, elements=1024)
for rank, total in enumerate(run.returned):
    print(f"rank {rank} has", ", ".join(f"{int(number):#x}" for number in total.unique()))
print(run)

# %% [markdown]
# Rank `r` contributes `16**r`, so the hexadecimal digit `r` of a sum, counted from the right, says how often rank `r`
# was added. In `0x1111`, each of four ranks was added once. A digit 0 is a rank that is missing, and a digit 2 is one
# that was added twice. The checks report such sums.
#
# Rank 0 receives one message per round, so it needs three rounds to hear from three ranks, and three more to send them
# the sum.

# %% [markdown]
# ## Predict: rounds and bytes
#
# | all-reduce | how |
# |---|---|
# | naive | all send to rank 0; rank 0 adds up, and sends the sum to each |
# | tree | pairs add up into one of the two, then pairs of these, until rank 0 has the sum; back down the same tree |
# | butterfly | each rank swaps what it holds with a partner 1 away, then 2 away, then 4 away, and so on; both add |
# | ring | a tensor is cut into N chunks; in each round, each rank sends one chunk to its right neighbour |

# %% [markdown]
# In the ring, chunks are first added up on their way round. A chunk is finished when it contains the contributions of
# all N ranks. Then each finished chunk goes round once more, so that all ranks get it.

# %% [markdown]
# **Exercise.** Predict what each of them costs.
#
# *Contract.*
# - Return two numbers: the rounds, and the bytes sent by the rank that sends **most**.
# - The tensor of every rank has `tensor_bytes` bytes.
# - The tree also accepts a number of ranks that is not a power of two. A rank without a partner then waits. The
#   butterfly is asked for powers of two only.
# - In the ring, a chunk is 1 / N of the tensor: do not round its bytes.
#
# The check asks about numbers of ranks that are not shown here.


# %% exercise="predict_all_reduce"
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    """Rounds of an all-reduce, and bytes sent by its busiest rank.

    Args:
        algorithm: "naive", "tree", "butterfly" or "ring".
        world_size: Number of ranks, 2 or more.
        tensor_bytes: Bytes of the tensor on each rank.

    Returns:
        Rounds, then bytes.
    """
    ### BEGIN SOLUTION
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 2 * levels, "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": others, "tree": levels, "butterfly": levels, "ring": 2 * others / world_size}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
    ### END SOLUTION


# %%
look(predict_all_reduce, "naive", 4, 8192)

# %% check="check_all_reduce_costs" points=2
check_all_reduce_costs(predict_all_reduce)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw four ranks as four columns, with one arrow for each message and one row for each round.<br>
# Then: how many sums are left after each round of the tree? In the butterfly, how many ranks have been added into what
# one rank holds, after each round? How often does one chunk of the ring move?
# </details>

# %% [markdown]
# **Run.** The tree is also given in full. `distance` doubles on the way up and is halved on the way down.


# %% tags=["given"]
def all_reduce_tree(tensor, rank, world_size, send, receive):
    total, distance = tensor.clone(), 1
    while distance < world_size and rank % (2 * distance) == 0:
        if rank + distance < world_size:
            total += receive(rank + distance)
        distance *= 2
    if rank > 0:
        send(total, rank - distance)
        total = receive(rank - distance)
    while distance > 1:
        distance //= 2
        if rank + distance < world_size:
            send(total, rank + distance)
    return total


# %%
def report(name, all_reduce, world_size=8, elements=1024):
    """Run an all-reduce, and print the sum, the rounds and the bytes next to the prediction."""
    run = look_at_ranks(add_up, world_size, all_reduce=all_reduce, elements=elements)
    if run:
        most = max(one.sent_bytes for one in run.traffic)
        print(f"{name:<10} {say_counts(run.returned)}: {run.rounds} rounds, {most} bytes")
        print(f"{'':<10} predicted: {look(predict_all_reduce, name, world_size, 8 * elements)}")
    return run


runs = {"naive": report("naive", all_reduce_naive), "tree": report("tree", all_reduce_tree)}

# %% [markdown]
# **Investigate.** S is the bytes of one tensor, and N the number of ranks. The last column is for N = 8.
#
# | | rounds | the busiest rank sends | N = 8 |
# |---|---|---|---|
# | naive | 2 (N - 1) | (N - 1) S | 14 rounds, 7 S |
# | tree | 2 log2 N | S log2 N | 6 rounds, 3 S |
# | butterfly | log2 N | S log2 N | 3 rounds, 3 S |
# | ring | 2 (N - 1) | 2 (N - 1) / N S | 14 rounds, 1.75 S |
#
# The logarithm is rounded up where N is not a power of two. In words: *the tree and the butterfly need few rounds,
# because the number of ranks in a sum doubles each round; the ring sends little, because it cuts the tensor.*

# %% [markdown]
# **Names.** The butterfly is also called *recursive doubling*. Collecting the sum on one rank is a *reduce*, and the
# way back is a *broadcast*. Operations in which all ranks take part are *collectives*; `send` and `receive` are *point
# to point*.
#
# **Modify.** Run the tree on 5 ranks. Before you do: will it take more rounds than on 8, fewer, or as many?

# %%
run_of_five = report("tree", all_reduce_tree, world_size=5)

# %% [markdown]
# It takes as many: 6. Rank 4 has no partner in the first two rounds, and needs the third, just like rank 4 of eight.
#
# <details><summary>Explain in one sentence: why is it the busiest rank that counts?</summary>
# An all-reduce ends when the last rank has the sum, so the rank with the most work sets the time.
# </details>

# %% [markdown]
# ## Complete: the butterfly
#
# In the tree, at least half of the ranks send nothing in a round. In the butterfly, all of them send in every round:
# partners swap what they hold, and both add. After the rounds at distances 1, 2 and 4, a rank holds the sum of 2, 4 and
# 8 ranks.
#
# The partner at distance `d` is `rank ^ d`, where `^` is Python's exclusive or: it flips one bit of the number.
# Partners are therefore mutual: `5 ^ 4` is 1, and `1 ^ 4` is 5.

# %% tags=["given"]
from grader import check_butterfly_rounds, check_butterfly_sums

# %% [markdown]
# **Exercise.** Complete the butterfly.
#
# *Contract.*
# - Return the sum on every rank, with the same bits everywhere. `tensor` has any shape, and must not change.
# - A rank sends all that it holds once to each partner, and receives once from each: log2 N rounds. Distances may come
#   in any order.
# - If the number of ranks is not a power of two, each rank raises a `ValueError` and sends nothing (given).
# - Write it by hand, with `send` and `receive` alone.
#
# The checks run 8, 4 and 2 ranks, and a number to reject.


# %% exercise="all_reduce_butterfly"
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    """Add up the tensors of all ranks by recursive doubling, by hand.

    Args:
        tensor: This rank's tensor, of any shape.
        rank: Number of this rank.
        world_size: Number of ranks, a power of two.
        send: send(tensor, destination).
        receive: receive(source) returns a tensor.

    Returns:
        The sum, a tensor of its own.

    Raises:
        ValueError: The number of ranks is no power of two.
    """
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    ### BEGIN SOLUTION
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance *= 2
    ### END SOLUTION
    return total


# %%
runs["butterfly"] = report("butterfly", all_reduce_butterfly)

# %% check="check_butterfly_sums" points=2 tags=["needs-loopback"]
check_butterfly_sums(all_reduce_butterfly)

# %% check="check_butterfly_rounds" points=1 tags=["needs-loopback"]
check_butterfly_rounds(all_reduce_butterfly)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write down the three partners of rank 0 of eight, and what rank 0 holds after each of them.<br>
# Then: one round is two lines. Which of them must come first, so that nobody waits forever?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why do all ranks end with the same bits, although floats round?</summary>
# Both partners add the same two numbers, and a + b rounds in the same way as b + a.
# </details>

# %% [markdown]
# ## Write: the ring
#
# Three ranks hold `a`, `b` and `c`, each cut into chunks 0, 1 and 2. Rank `r` begins by sending its chunk `r`:
#
# | | rank 0 | rank 1 | rank 2 |
# |---|---|---|---|
# | start | a0 · a1 · a2 | b0 · b1 · b2 | c0 · c1 · c2 |
# | round 1 | a0 · a1 · **c2+a2** | **a0+b0** · b1 · b2 | c0 · **b1+c1** · c2 |
# | round 2 | a0 · **b1+c1+a1** · c2+a2 | a0+b0 · b1 · **c2+a2+b2** | **a0+b0+c0** · b1+c1 · c2 |
#
# Bold marks the chunk that came in and was added. After two rounds, each rank has one finished chunk. Two more rounds
# pass the finished chunks on, and each replaces the chunk that the receiver had.

# %% tags=["given"]
from grader import check_ring_sums, check_ring_traffic

# %% [markdown]
# **Exercise.** Write the ring from its contract.
#
# *Contract.*
# - Return the sum on every rank, in the shape of `tensor`, with the same bits everywhere. `tensor` must not change.
# - `tensor` is contiguous and has any shape: its elements need not divide evenly by the number of ranks, and may be
#   fewer.
# - A single rank sends nothing, and returns what it has.
# - Write it by hand, with `send` and `receive` alone.
#
# The checks run 4 ranks, an odd number and 1.

# %% [markdown]
# *What may be sent*
# - A rank sends only to `(rank + 1) % world_size` and receives only from `(rank - 1) % world_size`.
# - It sends at most 2 (N - 1) messages, none with more elements than the number of elements over N, rounded up. All
#   messages are received.
# - There are at most 2 (N - 1) rounds, so no rank may wait for its left neighbour before it sends for the first time.


# %% exercise="all_reduce_ring"
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    """Add up the tensors of all ranks by passing chunks round a ring, by hand.

    Args:
        tensor: This rank's tensor, contiguous, of any shape.
        rank: Number of this rank.
        world_size: Number of ranks, 1 or more.
        send: send(tensor, destination).
        receive: receive(source) returns a tensor.

    Returns:
        The sum, in the shape of `tensor`.
    """
    ### BEGIN SOLUTION
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size].add_(receive(left))
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size].copy_(receive(left))
    return total
    ### END SOLUTION


# %%
runs["ring"] = report("ring", all_reduce_ring)

# %% check="check_ring_sums" points=2 tags=["needs-loopback"]
check_ring_sums(all_reduce_ring)

# %% check="check_ring_traffic" points=2 tags=["needs-loopback"]
check_ring_traffic(all_reduce_ring)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: in the table, which chunk does rank 0 send in round 1, and which one in round 2? Which one does it receive?<br>
# Then: `torch.Tensor.tensor_split(N)` always gives N chunks, some of them empty if need be; `chunk(N)` may give fewer.
# Both return views of the tensor.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does a rank of the ring never send two whole tensors?</summary>
# In each of the two halves it sends all chunks except one, which makes 2 (N - 1) / N of a tensor.
# </details>
#
# Can any method send less? Each number takes N - 1 messages to be added up, and N - 1 to reach the other ranks. That
# makes 2 (N - 1) S for all ranks together, so the busiest rank sends at least 2 (N - 1) / N S. The ring is therefore
# optimal [Patarasuk and Yuan], as long as only ranks add.

# %% [markdown]
# ## Which one is fastest, and when
#
# A message of `n` bytes takes `latency + n / bandwidth` seconds, where the latency is the time of an empty message. So
# an all-reduce whose rounds all carry `n` bytes takes `rounds * (latency + n / bandwidth)`.
#
# The next cell assumes a latency of 20 microseconds and a bandwidth of 10 GB/s. Before you run it: which all-reduce
# wins for a tensor of 1 KiB, and which for 256 MiB?

# %%
from grader import KIB, draw_curves

latency_seconds, bytes_per_second = 20e-6, 10e9
equal_bytes = 8.8 * latency_seconds * bytes_per_second  # butterfly and ring take equally long, as the text below shows
shapes = {"naive": (14, 1), "tree": (6, 1), "butterfly": (3, 1), "ring": (14, 1 / 8)}  # rounds, tensors a message


def model_seconds(name, tensor_bytes):
    rounds, tensors = shapes[name]
    return rounds * (latency_seconds + tensors * tensor_bytes / bytes_per_second)


sizes = sorted([equal_bytes, *(2**power for power in range(10, 29, 2))])
fastest = {size: min(model_seconds(name, size) for name in shapes) for size in sizes}
draw_curves(
    sizes,
    {name: [model_seconds(name, size) / fastest[size] for size in sizes] for name in shapes},
    title="All-reduce on 8 ranks, by the model",
    x_label="tensor on each rank",
    y_label="time / time of the fastest",
    names=[f"{size / KIB:.0f} KiB" if size < MIB else f"{size / MIB:.3g} MiB" for size in sizes],
    marks={sizes.index(equal_bytes): "butterfly = ring"},
)

# %% [markdown]
# For small tensors, time goes into rounds, so the butterfly wins. For large tensors, it goes into bytes: the ring wins,
# and the butterfly takes `3 / 1.75`, which is 1.71 times as long. With latency `l` and bandwidth `b`, the two are equal
# where `14 (l + S / 8b) = 3 (l + S / b)`: at `S = 8.8 l b`, here 1.68 MiB, where the figure has its line.
#
# The model can also be applied in a second way: `predict_seconds` replays the messages that your ranks really sent,
# with each rank sending one at a time and receiving one at a time. The next cell compares the result with the formula.

# %%
for name, run in runs.items():
    if run:
        replayed = predict_seconds(run.traffic, latency_seconds=latency_seconds, bytes_per_second=bytes_per_second)
        formula = model_seconds(name, 8 * 1024)
        print(f"{name:<10} messages replayed {replayed * 1e6:8.2f} us   formula {formula * 1e6:8.2f} us")

# %% [markdown]
# ## The price
#
# Finally, the clock. The next cells add up tensors of 16 bytes and of 4 MiB on 4 ranks. They also time PyTorch's
# `dist.all_reduce` with gloo, the library that connects processes without GPUs.


# %% tags=["given"]
def all_reduce_gloo(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    dist.all_reduce(total)
    return total


def time_all_reduce(rank, world_size, send, receive, all_reduce, sizes):
    """Return the seconds for tensors of several numbers of elements: of four tries the fastest."""
    fastest = []
    for elements in sizes:
        tensor, seconds = torch.ones(elements), []
        for _ in range(4):
            dist.barrier()
            start = time.perf_counter()
            all_reduce(tensor, rank, world_size, send, receive)
            seconds.append(time.perf_counter() - start)
        fastest.append(min(seconds))
    return fastest


# %%
by_hand = {"naive": all_reduce_naive, "tree": all_reduce_tree, "butterfly": all_reduce_butterfly}
for name, all_reduce in {**by_hand, "ring": all_reduce_ring, "gloo": all_reduce_gloo}.items():
    timed = look_at_ranks(time_all_reduce, 4, all_reduce=all_reduce, sizes=[4, MIB])
    if timed:
        few, many = (format_seconds(max(of_ranks)) for of_ranks in zip(*timed.returned, strict=True))
        print(f"{name:<10} {few:>8} for 16 bytes, {many:>8} for {format_bytes(4 * MIB)} on each of 4 ranks")

# %% [markdown]
# By the model, the ring would be first for 4 MiB: `6 (l + S / 4b)` is 0.75 ms, and the butterfly's `2 (l + S / b)` is
# 0.88 ms. On your machine the ring may well be last. The times for 16 bytes explain why. They are the price of messages
# alone: four ranks share the cores, and Python creates each message and waits for it. Compare them with the 0.12 ms of
# 6 rounds in the model. The ring sends 24 messages, the butterfly 8, and the other two 6 each.
#
# So these times say little about a network, and they vary from run to run. Rounds and bytes are exact, and hold
# everywhere.

# %% [markdown]
# **What else does a rank pay?** It holds what it receives, and it adds. Which of the four asks least of its busiest
# rank?
#
# | | received at a time | additions on the busiest rank |
# |---|---|---|
# | naive | one tensor | N - 1 tensors |
# | tree | one tensor | log2 N tensors |
# | butterfly | one tensor | log2 N tensors |
# | ring | one chunk | (N - 1) / N of a tensor |
#
# Again it is the ring, which receives 1 / N of a tensor at a time, and adds less than one tensor, however many ranks
# there are.

# %% [markdown]
# ## Two bandwidths
#
# Benchmarks of collectives print two numbers for an all-reduce of S bytes that takes t seconds:
#
# - **algorithm bandwidth**, S / t: what a program notices;
# - **bus bandwidth**, 2 (N - 1) / N x S / t: what each link carries in a ring.
#
# The algorithm bandwidth falls as ranks are added, even if every link is fully used. The bus bandwidth does not, so it
# is the one to compare with the hardware. The next cell computes both for the ring of the model, at 10 GB/s and without
# latency.

# %%
for world_size in (2, 8, 64):
    tensor_bytes = 256 * MIB
    seconds = 2 * (world_size - 1) / world_size * tensor_bytes / bytes_per_second
    algorithm = tensor_bytes / seconds / 1e9
    bus = 2 * (world_size - 1) / world_size * algorithm
    print(f"{world_size:>2} ranks: algorithm bandwidth {algorithm:5.2f} GB/s, bus bandwidth {bus:5.2f} GB/s")

# %% [markdown]
# ## What libraries choose
#
# - **gloo** runs `dist.all_reduce` on CPUs. Its default is the ring, at every size.
# - **NCCL** serves NVIDIA GPUs. It has rings and *double* trees: two trees, each for half of the tensor. It estimates
#   how long each would take from the bytes, the number of GPUs and nodes, and the links; `NCCL_ALGO` overrides the
#   choice. With switches that can add, **NVLS** lets the switch reduce.
# - **MPICH**, for clusters, uses recursive doubling for short tensors; for long ones, a reduce-scatter by halving, then
#   an all-gather.

# %% [markdown]
# The minimum of 2 (N - 1) / N S holds only if **ranks** do all the adding. Where a switch adds, a rank sends its tensor
# once and receives the sum once: S, about half of the ring's bytes.
#
# Links differ, too: inside a node they are several times as fast as between nodes. Libraries therefore work in levels:
# a reduce-scatter within each node, an all-reduce of each share between nodes, and an all-gather within the node.
# Between nodes, a GPU then sends only its share.
#
# Because small tensors pay for rounds, data parallel training also packs many small gradients into one large *bucket*
# (lesson 15).

# %% [markdown]
# | | |
# |---|---|
# | use an all-reduce when | all ranks need the whole sum: gradients of data parallel training |
# | do not when | each rank needs only a share (reduce-scatter), or only one rank needs the sum (reduce) |
# | combine with | buckets (lesson 15), fewer synchronisations (16), sharded state |

# %% [markdown]
# ## When it hangs
#
# Every rank has to call the same collectives, with the same sizes, in the same order. If one does not, the others wait,
# and the rank at fault may look as idle as they do. Here, rank 1 skips one all-reduce.


# %%
def train_unevenly(rank):
    for step in range(4):
        if rank != 1 or step != 1:  # "this rank has no rows in step 1"
            print(f"step {step}")
            dist.all_reduce(torch.ones(2))


try:
    run_ranks(train_unevenly, 3, limit_seconds=3)
except RuntimeError as error:
    print(str(error).splitlines()[0])
    for rank, printed in enumerate(error.printed):
        print(f"rank {rank} called all_reduce in {', '.join(printed.split(chr(10))[:-1])}")

# %% [markdown]
# Rank 1 has ended, while the others wait in step 3, so the place where a rank stopped shows neither who is at fault nor
# where the fault occurred. Look at **what each rank called**, from the start. PyTorch's *Flight Recorder* keeps such a
# list for each rank. On GPUs, calls are only queued, so a list continues past the call that hangs, on some ranks
# further than on others.

# %% [markdown]
# **Exercise.** Find the rank at fault, and what it did.
#
# *Contract.* `records[r]` lists the calls that rank `r` queued, each an operation and its bytes. Of three or more
# ranks, all except one agree as far as their lists go. Return the odd rank, and what it did at the first difference:
# - `"skipped"`: it left one call out; `"extra"`: it made one more;
# - `"swapped"`: it made two neighbouring calls in the other order;
# - `"other size"`: the same operation with other bytes; `"other operation"`: another operation in its place.
#
# At least three more calls follow on every rank. The check uses ten records.


# %% exercise="diagnose_hang"
def diagnose_hang(records: list) -> tuple[int, str]:
    """Find the rank whose collectives do not match, and how they differ.

    Args:
        records: Of each rank its (operation, bytes) in order.

    Returns:
        The rank, and "skipped", "extra", "swapped", "other size" or "other operation".
    """
    ### BEGIN SOLUTION
    place = 0
    while len({record[place] for record in records}) == 1:
        place += 1
    calls = [record[place] for record in records]
    odd = next(rank for rank, call in enumerate(calls) if calls.count(call) == 1)
    own, others = records[odd][place:], records[odd - 1][place:]
    if own[:2] == others[1::-1]:
        return odd, "swapped"
    if own[0] == others[1]:
        return odd, "skipped"
    if own[1] == others[0]:
        return odd, "extra"
    return odd, "other size" if own[0][0] == others[0][0] else "other operation"
    ### END SOLUTION


# %%
step = [("all_reduce", 4096), ("all_reduce", 8192), ("all_gather", 512)]
look(diagnose_hang, [step * 3, [*step, *step[1:], *step], step * 2])

# %% check="check_hang_diagnoses" points=2
check_hang_diagnoses(diagnose_hang)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: read the lists next to each other, one line for each call. Up to which line do all ranks agree, and which rank
# differs in the next line?<br>
# Then: write down the next two calls of that rank and of another one. Each of the five causes can be seen in these
# four.
# </details>

# %% [markdown] tags=["further"]
# ## Further: half a ring
#
# The ring has two halves, and each has a name. The first, which ends with one finished chunk on each rank, is a
# **reduce-scatter**. The second, which gives all chunks to all ranks, is an **all-gather**. Each costs (N - 1) / N S.
#
# Training with sharded optimizers needs the two halves separately: a rank that updates only its own share of the
# weights needs only its own chunk of the gradient. There, rank `r` has to get chunk `r`.
#
# <details><summary>In the ring of the table above, which chunk does rank r finish?</summary>
# Chunk r + 1: rank 0 of three finishes chunk 1, rank 1 chunk 2, and rank 2, the last one, chunk 0.
# </details>

# %% tags=["given"]
from grader import check_ring_shards

# %% [markdown]
# **Exercise.** Write the reduce-scatter.
#
# *Contract.*
# - Rank `r` returns chunk `r` of the sum, as `tensor.flatten().tensor_split(world_size)` cuts it, so the result has one
#   dimension. `tensor` must not change.
# - Neighbours and chunks are as in the ring. A rank sends at most N - 1 messages, in at most N - 1 rounds.
# - Write it by hand, with `send` and `receive` alone.
#
# The check runs 4 ranks and an odd number, also with uneven chunks.


# %% exercise="reduce_scatter_ring"
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    """Add up the tensors of all ranks, and keep the chunk of this rank's number, by hand.

    Args:
        tensor: This rank's tensor, contiguous, of any shape.
        rank: Number of this rank.
        world_size: Number of ranks, 2 or more.
        send: send(tensor, destination).
        receive: receive(source) returns a tensor.

    Returns:
        Chunk `rank` of the sum, [elements of the chunk].
    """
    ### BEGIN SOLUTION
    chunks = tensor.flatten().tensor_split(world_size)
    passing = chunks[(rank - 1) % world_size]
    for step in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size) + chunks[(rank - step - 2) % world_size]
    return passing
    ### END SOLUTION


# %%
halved = look_at_ranks(add_up, 4, all_reduce=reduce_scatter_ring, elements=1024)
print(halved or "")

# %% check="check_ring_shards" points=1 tags=["needs-loopback"]
check_ring_shards(reduce_scatter_ring)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: chunk r has to arrive on rank r after N - 1 moves to the right. On which rank does it begin?<br>
# Then: that rank sends it first. Shift all chunk numbers of the first half by the same amount.
# </details>

# %% [markdown]
# ## Further: a ring without chunks
#
# Here is a ring that passes on whole tensors. It is shorter than yours, and its sums are right. What does it cost on 8
# ranks?


# %%
def all_reduce_whole(tensor, rank, world_size, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total


def add_random(rank, world_size, send, receive, all_reduce):
    tensor = torch.randn(1000, generator=torch.Generator().manual_seed(rank))
    return all_reduce(tensor, rank, world_size, send, receive)


whole = run_ranks(add_up, 8, all_reduce=all_reduce_whole, elements=1024)
most = max(one.sent_bytes for one in whole.traffic)
print(f"{int(whole.returned[0][0]):#x}: {whole.rounds} rounds, {most / (8 * 1024):g} tensors sent by each rank")
totals = run_ranks(add_random, 8, all_reduce=all_reduce_whole).returned
print(f"random tensors: rank 1 ends {float((totals[1] - totals[0]).abs().max()):.1e} from rank 0")

# %% [markdown]
# It takes half of the rounds, but sends 7 tensors instead of 1.75. There is also a second price: each rank adds in its
# own order, so the sums of two ranks differ in their last bits. Data parallel training relies on equal bits, because
# nothing brings models back together once they have drifted apart.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>How many bytes does each rank of a ring send of S bytes, on 4 ranks and on 1,000?</summary>
# 1.5 S and 1.998 S.
# </details>
# <details><summary>When does a butterfly beat the ring?</summary>
# When the tensor is small, so that latency counts more than bandwidth.
# </details>
# <details><summary>What do a reduce-scatter and an all-gather make together?</summary>
# An all-reduce.
# </details>
# <details><summary>One rank waits in a later line than all others. Is it the one that is right?</summary>
# Not necessarily: it may be ahead because it skipped a call. Compare the lists of calls.
# </details>
#
# **Takeaway: an all-reduce costs rounds and bytes; the butterfly saves rounds, the ring saves bytes.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 15, data parallel.

# %% [markdown]
# **Sources**
# - [Thakur, Rabenseifner and Gropp, MPICH][mpich]: the model; recursive doubling for short tensors, halving for long.
# - [Patarasuk and Yuan, bandwidth optimal all-reduce][ring]: the ring sends the fewest bytes.
# - [gloo, allreduce.cc][gloo]: the ring is what an unspecified algorithm means.
# - [NCCL, NCCL_ALGO][nccl]; [what its choice depends on][choice], and [how it is made][estimate]; [double binary
#   trees][trees].
# - [NCCL tests, performance][performance]: algorithm and bus bandwidth. [NCCL, NVLS][nvls]: reduction in the switch.
# - [PyTorch, Flight Recorder][recorder]: the record of what each rank called.
# - *Efficient training and inference*, seminar slides: the four all-reduces in pictures.

# %% [markdown]
# A published course uses the name *butterfly* for an all-reduce in which each rank sends one chunk to every other rank,
# and then its sum to every other rank. That is a direct reduce-scatter and all-gather: 1.75 S and 14 rounds on 8 ranks,
# as in a ring.
#
# [mpich]: https://web.cels.anl.gov/~thakur/papers/ijhpca-coll.pdf
# [ring]: https://doi.org/10.1016/j.jpdc.2008.09.002
# [gloo]: https://github.com/pytorch/gloo/blob/main/gloo/allreduce.cc
# [nccl]: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
# [choice]: https://github.com/NVIDIA/nccl/issues/754
# [estimate]: https://github.com/NVIDIA/nccl/issues/457
# [performance]: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
# [nvls]: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-nvls-enable
# [recorder]: https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
# [trees]: https://developer.nvidia.com/blog/massively-scale-deep-learning-training-nccl-2-4/
