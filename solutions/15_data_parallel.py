# %% [markdown]
# # 15. Data parallel
#
# You train one model on several ranks so that it equals training on the large batch, and you count what that costs.
#
# 60 min (estimated) · CPU is enough · after lesson 14

# %% [markdown] objectives="1; 2; 3 4 5"
# **You will be able to**
# - predict how many all-reduces an update makes, and how many bytes go into them;
# - average gradients in buckets that are sent while the backward pass goes on, equal to the large batch on every rank;
# - accumulate with one round of all-reduces for each update: raw, with Accelerate and with the Trainer.

# %% tags=["given"]
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from grader import MIB, check_data_parallel_calls, look, look_at_ranks, make_chain, run_ranks

print(f"measured on: processes of one machine, CPU, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Four ranks all-reduce a tensor in a ring. How much does each rank send?</summary>
# Six chunks, each a quarter of the tensor: 1.5 times its bytes.
# </details>
# <details><summary>A group has two micro-batches of equal size. By what do you divide each loss?</summary>
# By 2, so that the gradients add up to the gradient of the mean.
# </details>

# %% [markdown]
# **The problem.** A published training script wraps its model for several GPUs. It gives different rows to every GPU,
# and counts the tokens of all GPUs together.
#
# But the gradients of one GPU never reach the others, so each GPU trains a model of its own. One word in the script is
# wrong, and nothing warns you. What has to happen between the GPUs, in which line, and how can you see it?

# %% [markdown]
# ## Several ranks, one batch
#
# Each rank holds a copy of the model and reads its own rows. If all ranks have the same number of rows, the mean loss
# of the whole batch is the mean of the ranks' mean losses, so its gradient is the **mean** of the ranks' gradients.
#
# `dist.all_reduce(tensor)` replaces a tensor by its **sum** over all ranks, in place. `dist.broadcast(tensor, src=0)`
# replaces it by that of rank 0. Every rank has to make these calls in the same order.
#
# As in lesson 14, a rank of `run_ranks` receives what the function refers to by name: imports, functions and plain
# values. A tensor or a model of the notebook cannot be passed on; create it in the function.


# %% tags=["given"]
def make_job(seed):
    """A small model, with weights by the seed, and 12 rows that are the same for every seed."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    torch.manual_seed(100)
    return model, torch.randn(12, 3), torch.randn(12, 1)


def average_after_backward(rank, world_size):
    """Return two numbers of the gradient before and after the ranks have talked."""
    model, inputs, targets = make_job(seed=0)
    F.mse_loss(model(inputs[rank::world_size]), targets[rank::world_size]).backward()
    own = model[0].bias.grad[:2].clone()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size
    return own, model[0].bias.grad[:2]


# %%
run = run_ranks(average_after_backward, 4)
for rank, (own, averaged) in enumerate(run.returned):
    print(f"rank {rank}: own rows {own.tolist()}   averaged {averaged.tolist()}")
model, inputs, targets = make_job(seed=0)
F.mse_loss(model(inputs), targets).backward()
print(f"large batch, one process:                                        {model[0].bias.grad[:2].tolist()}")
print(run)

# %% [markdown]
# The ranks' own gradients differ, and the averaged ones equal those of the large batch. So every rank takes the same
# step, and the copies stay equal. The messages and bytes in the table are those of `send`; collectives are counted in
# its last column.
#
# **Names.** This is *data parallel* training. Each copy is a *replica*. PyTorch's implementation is
# `DistributedDataParallel`, **DDP** for short. The *effective batch* is the rows of a micro-batch, times the
# micro-batches of an update, times the ranks.
#
# This loop communicates only after the backward pass. Until then the network is idle. Can communication begin earlier?

# %% [markdown]
# ## Predict: all-reduces of one update
#
# The backward pass computes the gradients from the last parameter to the first. DDP copies each gradient into a
# **bucket** as soon as it is ready. A bucket is **closed as soon as it holds at least** `bucket_bytes`, and the next
# gradient opens a new one. When all gradients are ready, the last bucket is closed, too.
#
# A closed bucket is all-reduced at once, while the backward pass continues. This is the **overlap** of communication
# and computation. A tensor is never split. A frozen parameter has no gradient.

# %% [markdown]
# An update of `k` micro-batches has `k` backward passes. DDP synchronises in each of them, although only the last one
# has to. `with model.no_sync():` switches synchronisation off.
#
# When does DDP look at that switch? In the **forward pass**. A forward pass outside `no_sync` prepares the next
# backward pass to synchronise, wherever that one is called. A forward pass inside `no_sync` does not.

# %% [markdown]
# **Exercise.** Predict the all-reduces of one update.
#
# *Contract.*
# - `parameters` are those of the model, in its order, all in one number format. Do not change the list or its tensors.
# - `no_sync` says which calls are inside it, for all micro-batches of an update except the last: `"nowhere"`,
#   `"around backward"` or `"around forward and backward"`.
# - Return two numbers for one update: the all-reduces, and the bytes that one rank puts into them.
#
# The check uses other models, also with frozen parameters and 16-bit numbers. Their tensors have shapes but no values,
# so compute the answer.


# %% exercise="predict_all_reduces"
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    """Count the all-reduces of one update under DistributedDataParallel, and their bytes.

    Args:
        parameters: Tensors in the order of the model; each has .numel(), .element_size() and .requires_grad.
        bucket_bytes: A bucket is closed as soon as it holds so many.
        k: Micro-batches of the update.
        no_sync: "nowhere", "around backward" or "around forward and backward".

    Returns:
        All-reduces, and bytes that one rank puts into all of them.
    """
    ### BEGIN SOLUTION
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
        tensor_bytes = parameter.numel() * parameter.element_size()
        buckets += held == 0
        held += tensor_bytes
        held = 0 if held >= bucket_bytes else held
        gradient_bytes += tensor_bytes
    backwards = 1 if no_sync == "around forward and backward" else k
    return buckets * backwards, gradient_bytes * backwards
    ### END SOLUTION


# %%
look(predict_all_reduces, list(make_chain(2, 8, 32).parameters()), 1000, 4, "nowhere")

# %% check="check_data_parallel_calls" points=2
check_data_parallel_calls(predict_all_reduces)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write down the sizes of the tensors from the last to the first. Draw a line wherever a bucket is closed.<br>
# Then: count the backward passes that synchronise. What did the forward pass before each of them see?
# </details>

# %% [markdown]
# **Run.** Now DDP itself, on two ranks, with buckets of 0.1 MiB. In its first backward pass, DDP puts all gradients
# into one bucket and learns their order, so the cell leaves out the first all-reduce.


# %%
def run_update(bucket_bytes, k, no_sync):
    model = DistributedDataParallel(make_chain(4, 64, 256), bucket_cap_mb=bucket_bytes / MIB)
    model(torch.randn(8, 64)).sum().backward()
    for index in range(k):
        quiet = model.no_sync if index + 1 < k else nullcontext
        with quiet() if no_sync == "around forward and backward" else nullcontext():
            loss = model(torch.randn(8, 64)).sum()
            with quiet() if no_sync == "around backward" else nullcontext():
                loss.backward()


def all_reduces_of(run):
    """The bytes of each all-reduce of rank 0 but the first."""
    return [byte_count for kind, _, byte_count in run.traffic[0].events if kind == "all_reduce"][1:]


bucket_bytes, k, places = MIB // 10, 4, ("nowhere", "around backward", "around forward and backward")
parameters = list(make_chain(4, 64, 256).parameters())
predicted = look(lambda: [predict_all_reduces(parameters, bucket_bytes, k, no_sync) for no_sync in places])
for index, no_sync in enumerate(places):
    sizes = all_reduces_of(run_ranks(run_update, 2, bucket_bytes=bucket_bytes, k=k, no_sync=no_sync))
    forecast = f"predicted {predicted[index]}" if predicted else ""
    print(f"{no_sync:<28} measured {len(sizes):>2} all-reduces, {sum(sizes):>9,} bytes   {forecast}")

# %%
from grader import draw_curves

splits = [1, 2, 3, 4]
moved = {place: [] for place in places}
for no_sync in places:
    for k in splits:
        run = run_ranks(run_update, 2, bucket_bytes=bucket_bytes, k=k, no_sync=no_sync)
        moved[no_sync].append(sum(all_reduces_of(run)) / MIB)
draw_curves(
    splits,
    {f"no_sync {place}": values for place, values in moved.items()},
    title="What one rank puts into all-reduces for one update",
    x_label="micro-batches k",
    y_label="MiB",
)

# %% [markdown]
# **Investigate.** Two of the three lines coincide. `no_sync` around the backward pass alone changes nothing, because
# each forward pass has already prepared the backward pass that follows. With `no_sync` around both, the cost does not
# grow with `k`.
#
# In words: *an update pays for its gradients once per forward pass that is not inside `no_sync`.*
#
# | what | all-reduces of one update | bytes |
# |---|---|---|
# | one for each tensor | tensors | gradients |
# | buckets | buckets | gradients |
# | `k` micro-batches | `k` x buckets | `k` x gradients |
# | `no_sync` around forward and backward | buckets | gradients |

# %% [markdown]
# Why buckets? Each all-reduce has a latency, as in lesson 14, and many small ones pay it many times. A single large
# one, on the other hand, cannot begin before the backward pass has ended. DDP's default is 25 MiB, with a first bucket
# of 1 MiB, which fills up early. `bucket_cap_mb` sets the size of all buckets.
#
# The next cell times an update with 16 MiB of gradients. Time is shown but not graded. Your ranks share one machine, so
# communication and computation compete for the same cores, and another run may give another order.


# %%
def seconds_of_update(bucket_mib):
    import time

    model = DistributedDataParallel(make_chain(8, 256, 1024), bucket_cap_mb=bucket_mib)
    seconds = []
    for _ in range(5):
        loss = model(torch.randn(4, 256)).sum()
        started = time.perf_counter()
        loss.backward()
        seconds.append(time.perf_counter() - started)
    return min(seconds[2:])


for bucket_mib in (0.001, 1, None, 25):
    run = run_ranks(seconds_of_update, 2, bucket_mib=bucket_mib)
    sizes = all_reduces_of(run)  # of four backwards
    buckets, what = len(sizes) // 4, f"buckets of {bucket_mib} MiB" if bucket_mib else "DDP's default"
    time_text = f"backward {max(run.returned) * 1e3:5.1f} ms"
    print(f"{what:<20} all-reduces: {buckets:>2}, the first of {sizes[0] / MIB:6.3f} MiB, {time_text}")

# %% [markdown]
# The 8 blocks have 32 tensors, and 0.001 MiB are 1,048 bytes. A bias of 1,024 bytes leaves its bucket open, so it
# shares that bucket with the weight that comes next: 24 buckets.
#
# <details><summary>Explain in one sentence: why does a forward pass decide what a backward pass does?</summary>
# DDP prepares its buckets in the forward pass, so that each gradient finds its bucket as soon as it is ready.
# </details>
#
# **Modify.** In the cell that sets `bucket_bytes`, change `k` from 4 to 8. Before you run it: which of the three counts
# double, and which stay the same?
#
# <details><summary>Answer</summary>
# The first two double. With no_sync around both passes, the count stays the same.
# </details>

# %% [markdown]
# ## Data parallel by hooks, with overlap
#
# DDP puts a hook on each gradient. `parameter.register_post_accumulate_grad_hook(hook)`, known from lesson 6, calls
# `hook(parameter)` as soon as the gradient of that parameter is in `.grad`. Three rules apply from the start:
#
# - Each rank may have built its model from **a different seed**. Equal steps from unequal weights stay unequal, so all
#   ranks take the weights of rank 0.
# - A **tied** parameter has two names and one gradient. `model.parameters()` yields it once.
# - A **frozen** parameter has weights and no gradient.
#
# A hook that calls `dist.all_reduce` makes the backward pass wait. `handle = dist.all_reduce(tensor, async_op=True)`
# starts the all-reduce and returns at once; `handle.wait()` waits until the sum is in `tensor`. Until then, do not read
# or write `tensor`.


# %% tags=["given"]
def pack(parameters):
    """Return the gradients of some parameters in one new vector."""
    return torch.cat([parameter.grad.flatten() for parameter in parameters])


def unpack(flat, parameters):
    """Write a vector back into the gradients of these parameters."""
    for parameter, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
        parameter.grad.copy_(part.view_as(parameter))


def share_and_hook(model, hook):
    """Give all ranks the weights of rank 0, and each trained parameter a hook."""
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(hook)


# %% [markdown]
# **Exercise.** Complete DDP with buckets that are sent while the backward pass goes on.
#
# *Contract.* Gradients go into the open bucket in the order they become ready.
# - `collect(parameter)` is called for each. As soon as the bucket holds `bucket_bytes`, it starts one all-reduce of it
#   with `async_op=True`, without waiting.
# - `finish()` is called after each backward pass. It sends the open bucket, waits for every handle, and leaves the
#   ranks' mean in each `.grad`.
#
# A backward pass may leave parameters out, and layers may run in any order. The checks run 2, 3 and 4 ranks; they
# compare gradients, and when which bytes are sent.

# %% tags=["given"]
from grader import check_synchronised_gradients, check_synchronised_overlap


# %% exercise="synchronise_gradients"
def synchronise_gradients(model, bucket_bytes: int):
    """Average the gradients of all ranks in buckets that overlap with backward, by hand.

    Args:
        model: A module on the CPU; each rank calls this with its own.
        bucket_bytes: A bucket is sent as soon as it holds so many.

    Returns:
        finish(), to be called after each backward.
    """
    world_size, bucket, started = dist.get_world_size(), [], []
    ### BEGIN SOLUTION

    def send():
        flat = pack(bucket)
        started.append((dist.all_reduce(flat, async_op=True), flat, list(bucket)))
        bucket.clear()

    def collect(parameter):
        bucket.append(parameter)
        if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
            send()

    def finish():
        if bucket:
            send()
        for handle, flat, parameters in started:
            handle.wait()
            unpack(flat / world_size, parameters)
        started.clear()

    ### END SOLUTION
    share_and_hook(model, collect)
    return finish


# %%
def first_gradient(rank, world_size, prepare):
    model, inputs, targets = make_job(seed=rank)
    finish = prepare(model, 20)
    F.mse_loss(model(inputs[rank::world_size]), targets[rank::world_size]).backward()
    finish()
    return model[0].bias.detach()[:2], model[0].bias.grad[:2]


run = look_at_ranks(first_gradient, 3, prepare=synchronise_gradients)
for rank, (weights, gradient) in enumerate(run.returned if run else ()):
    print(f"rank {rank}: weights {weights.tolist()}   gradient {gradient.tolist()}")
print(f"large batch:     {model[0].bias.detach()[:2].tolist()}            {model[0].bias.grad[:2].tolist()}")

# %% check="check_synchronised_gradients" points=2 tags=["needs-loopback"]
check_synchronised_gradients(synchronise_gradients)

# %% check="check_synchronised_overlap" points=2 tags=["needs-loopback"]
check_synchronised_overlap(synchronise_gradients)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: who knows that the backward pass has ended? A hook cannot: the parameters that would come after it may have no
# gradient this time.<br>
# Then: for each bucket under way, keep its handle, its vector and its parameters. You need all three when it has
# arrived. And which two lists are empty when finish returns?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why do you take the mean instead of the sum?</summary>
# The loss of the large batch is a mean over its rows, so its gradient is the mean of the ranks' gradients.
# </details>
#
# **Modify.** Think of the same run without the broadcast. Do the gradients of the ranks still agree after the backward
# pass?
#
# <details><summary>Answer</summary>
# They do: all ranks hold the same mean. But it is a mean of gradients at different weights, and the weights stay
# different.
# </details>

# %% [markdown]
# DDP itself differs in one point. It assigns parameters to buckets in advance, in reverse order of registration, and
# sends the buckets in that order. So ranks agree on the order even if their hooks fire in different orders. But
# parameters that only **some** ranks leave out need `find_unused_parameters=True`, which sends zeros for them.

# %% [markdown]
# ## Which rows does a rank see?
#
# Nothing above checks that the ranks read different rows. With the same rows everywhere, all gradients are equal, and
# so is their mean: the large batch is then a small one, repeated several times. A **sampler** distributes the rows.
#
# Here are 10 rows on 3 ranks, in batches of 2; 10 is not a multiple of 6. Before you run the cell: which rank gets row
# 9 if rows are dealt out one by one, and which if batches are? And what does the last rank get?

# %% tags=["given"]
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader, DistributedSampler


# %%
def show_rows(rank):
    rows = list(range(10))
    print(f"DistributedSampler  {list(DistributedSampler(rows, shuffle=False))}")
    for name, options in (
        ("prepare", {}),
        ("even_batches=False", {"even_batches": False}),
        ("split_batches=True", {"split_batches": True}),
    ):
        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options))
        loader = DataLoader(rows, batch_size=6 if "split_batches" in options else 2)
        print(f"{name:<19} {[batch.tolist() for batch in accelerator.prepare(loader)]}")


run = run_ranks(show_rows, 3)

# %% [markdown]
# `DistributedSampler` deals out the rows one by one, and repeats rows from the start, here 0 and 1, until all ranks
# have equally many. According to its documentation, shuffling needs `sampler.set_epoch(epoch)`; otherwise every epoch
# has the same order.
#
# Accelerate's `prepare` deals out whole **batches**: the loader's batch size is that of **one rank**. It also fills up
# the end from the start, so rows 0 and 1 count twice. `even_batches=False` repeats nothing, so here rank 2 has one
# batch fewer. DDP's documentation names such uneven inputs as a cause of hangs, because the others wait for that rank's
# all-reduce.
#
# `split_batches=True` takes the loader's batch size as that of all ranks together.

# %% [markdown]
# ## Write: one all-reduce for each update
#
# **Exercise.** Now combine both: data parallel training with `k` micro-batches per update. Write it from its contract.
#
# *Contract.*
# - `model` is wrapped in DistributedDataParallel. Call it, or a DistributedDataParallel that you make of its module.
#   `optimizer` makes the updates.
# - `micro_batches` are those of **all** ranks; do not change the list. This rank takes every `world_size`-th, starting
#   with number `rank`; each rank has equally many.
# - Go through this rank's micro-batches once. Each `k` of them make one update; the last group may be shorter, and gets
#   its update, too. At the start, no parameter has a gradient.

# %% [markdown]
# *Contract, continued.*
# - At each update, `.grad` holds on every rank the gradient of the mean loss, `F.mse_loss`, over the group's
#   micro-batches on all ranks, and nothing from an earlier group. Run one micro-batch forward and backward at a time.
#   Return values are ignored.
# - The gradients are all-reduced **once per update**. One number per micro-batch, such as its loss for a log, may also
#   be all-reduced.
#
# The checks run 2, 3 and 4 ranks, once with fewer micro-batches than `k`. They compare the gradient before every
# `optimizer.step()`, each rank's rows, and all-reduced bytes.

# %% tags=["given"]
from grader import check_data_parallel_traffic, check_data_parallel_updates


# %% exercise="train_accumulated"
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    """Train one epoch on this rank, with one all-reduce of the gradients for each update.

    Args:
        model: A module in DistributedDataParallel, called on inputs [rows, features].
        optimizer: Holds its parameters.
        micro_batches: (inputs, targets) pairs of all ranks, with equal numbers of rows.
        k: Micro-batches of one rank for one update.
        rank: Number of this rank.
        world_size: How many ranks.
    """
    ### BEGIN SOLUTION
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %%
def train_on_a_rank(rank, world_size, train):
    model = DistributedDataParallel(make_job(seed=0)[0])
    generator = torch.Generator().manual_seed(0)
    sizes = ((4, 3), (4, 1))  # inputs and targets of a micro-batch of 4 rows
    micro_batches = [tuple(torch.randn(size, generator=generator) for size in sizes) for _ in range(6 * world_size)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, micro_batches, 4, rank, world_size)
    return model.module[0].bias.detach()[:2]


run = look_at_ranks(train_on_a_rank, 3, train=train_accumulated)
if run:
    print([weights.tolist() for weights in run.returned])
    print("all-reduces of each rank:", [one.collectives["all_reduce"] for one in run.traffic])

# %% check="check_data_parallel_updates" points=2 tags=["needs-loopback"]
check_data_parallel_updates(train_accumulated)

# %% check="check_data_parallel_traffic" points=2 tags=["needs-loopback"]
check_data_parallel_traffic(train_accumulated)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take your loop of lesson 2 with a short last group. In each group, mark the micro-batch that has to
# communicate.<br>
# Then: no_sync is a context. Which two lines are inside it, and for which micro-batches does nullcontext() replace it?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why can the first micro-batches of a group skip the all-reduce?</summary>
# Gradients add up on each rank, and the mean over the ranks of a sum is the sum of the means.
# </details>

# %% [markdown]
# ## The same run in three forms
#
# Accelerate and the Trainer wrap the model in DDP when they find several ranks. With `k` micro-batches per update:
#
# | | raw | Accelerate | Trainer |
# |---|---|---|---|
# | wrap | `DistributedDataParallel(model)` | `accelerator.prepare(model, ...)` | done for you |
# | distribute rows | `micro_batches[rank::world_size]` | `prepare(DataLoader(...))` | done for you |
# | divide by `k` | `loss / k` | `gradient_accumulation_steps=k` | the same argument |
# | skip all-reduces | `model.no_sync()` | `accelerator.accumulate(model)` | done for you |
# | batch size | of a micro-batch | of a micro-batch on one rank | `per_device_train_batch_size`, likewise |

# %% tags=["given"]
from transformers import Trainer, TrainingArguments

from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, plain_trainer_arguments, tokenize_pairs

same_run = plain_trainer_arguments("cpu")


def rows_of_one_process(dataset, size):
    """The micro-batches of one process, in order."""
    return list(DataLoader(dataset, batch_size=size))


def train_raw(model, dataset, batch, k, learning_rate):
    """The raw form, on one rank or on several."""
    world_size, rank = dist.get_world_size(), dist.get_rank()
    replica = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    own = rows_of_one_process(dataset, batch // (world_size * k))[rank::world_size]
    for index, rows in enumerate(own, start=1):
        with nullcontext() if index % k == 0 else replica.no_sync():
            (replica(**rows).loss / k).backward()
        if index % k == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% [markdown]
# **Exercise.** Write the two other forms, so that each equals `train_raw`.
#
# *Contract.*
# - Every rank calls your function, with equal models. `batch` counts the rows of one update on all ranks together. Each
#   row is seen once, in order; ranks and micro-batches divide them evenly.
# - Each update all-reduces the gradients once. Use SGD with `learning_rate`.
# - With Accelerate, prepare model and optimizer, and call `accelerator.backward`. With the Trainer, call
#   `Trainer.train`; `same_run` holds the other arguments.

# %% [markdown]
# The checks run 2 ranks with `k = 1` and 3 ranks with a larger `k`. They compare the gradients at every update, the
# weights, and the bytes of the all-reduces.
#
# You know one trap from lesson 2. This model's `forward` takes `**kwargs`, so the Trainer expects the model to divide
# its loss by the number of labels of **all micro-batches on all ranks**, which BERT does not do. If the model has the
# attribute `accepts_loss_kwargs` with the value False, the Trainer divides by `k` itself.

# %% tags=["given"]
from grader import check_data_parallel_accelerate, check_data_parallel_trainer


# %% exercise="train_ranks_with_accelerate"
def train_ranks_with_accelerate(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    """Train on this rank with Accelerate, equal to train_raw.

    Args:
        model: Returns an output with .loss for rows of the data set.
        dataset: Rows as the model takes them, labels included; the same on every rank.
        batch: Rows of one update on all ranks together.
        k: Micro-batches of a rank for one update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // (accelerator.num_processes * k))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for rows in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**rows).loss)
            optimizer.step()
            optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="train_ranks_with_trainer"
def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    """Train on this rank with the Trainer, equal to train_raw.

    Args:
        model: Returns an output with .loss for rows of the data set.
        dataset: Rows as the model takes them, labels included; the same on every rank.
        batch: Rows of one update on all ranks together.
        k: Micro-batches of a rank for one update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    model.accepts_loss_kwargs = False
    rows = batch // (dist.get_world_size() * k)
    own = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()
    ### END SOLUTION


# %%
def run_form(rank, train, k):
    """Return the weights and the seconds of 48 pairs, 16 for an update; the second of two runs counts."""
    import time

    dataset = tokenize_pairs(make_sentence_pairs(pairs=48), make_tokenizer())
    for _ in range(2):
        model, started = make_pair_classifier(), time.perf_counter()
        train(model, dataset, 16, k, 0.1)
        seconds = time.perf_counter() - started
    return torch.nn.utils.parameters_to_vector(model.parameters()), seconds


def train_without_silence(model, dataset, batch, k, learning_rate):
    """Plain data parallel: the raw form in which every backward all-reduces."""
    replica = DistributedDataParallel(model)
    replica.no_sync = nullcontext
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    own = rows_of_one_process(dataset, batch // (dist.get_world_size() * k))[dist.get_rank() :: dist.get_world_size()]
    for index, rows in enumerate(own, start=1):
        (replica(**rows).loss / k).backward()
        if index % k == 0:
            optimizer.step()
            optimizer.zero_grad()


# %%
forms = {"plain, no no_sync": train_without_silence, "raw": train_raw}
forms |= {"Accelerate": train_ranks_with_accelerate, "Trainer": train_ranks_with_trainer}
alone, _ = run_ranks(run_form, 1, train=train_raw, k=4).returned[0]
print(f"{'2 ranks, k = 2':<18} {'distance from one process':>26} {'sent for an update':>20} {'step time':>10}")
for name, train in forms.items():
    run = look_at_ranks(run_form, 2, train=train, k=2)
    if run:
        weights, seconds = run.returned[0]
        distance = float(torch.linalg.vector_norm(weights - alone) / torch.linalg.vector_norm(alone))
        sizes = [size for kind, _, size in run.traffic[0].events if kind == "all_reduce"]
        print(f"{name:<18} {distance:>26.1e} {sum(sizes) / 6 / MIB:>16.2f} MiB {seconds / 3:>8.3f} s")

# %% check="check_data_parallel_accelerate" points=1 tags=["needs-loopback"]
check_data_parallel_accelerate(train_ranks_with_accelerate)

# %% check="check_data_parallel_trainer" points=1 tags=["needs-loopback"]
check_data_parallel_trainer(train_ranks_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for 2 ranks, batch 16 and k = 2, how many rows does one forward pass have?<br>
# Then: accumulate(model) uses no_sync for you, that of the model which prepare returned. The prepared optimizer waits
# for the last micro-batch of a group, and the prepared loader deals out the batches.
# </details>

# %% [markdown]
# ## The price
#
# In data parallel training, each rank holds everything: parameters, gradients, optimizer state. It saves time, not
# memory. According to PyTorch's documentation, DDP's buckets even hold the gradients a second time, unless you set
# `gradient_as_bucket_view=True`.
#
# The next cell computes what one update of lesson 6's DistilBERT sends, with its 65,783,042 parameters in float32 and
# the ring of lesson 14.

# %%
gradient_bytes = 4 * 65_783_042
for world_size in (2, 4, 8):
    for k in (1, 4):
        sent_mib = 2 * (world_size - 1) / world_size * gradient_bytes / MIB
        text = f"{world_size} ranks, k = {k}: effective batch {16 * k * world_size:>3} rows, each rank sends"
        print(f"{text} {sent_mib:.1f} MiB for an update, {sent_mib / k:.1f} MiB for 16 rows of its own")

# %% [markdown]
# From 2 ranks to 8, the bytes that a rank sends grow by a factor of 1.75: `2 (N - 1) / N` stays below 2, however many
# ranks there are. With more micro-batches, a rank sends less per row, but a larger effective batch means fewer updates
# for the same rows.
#
# **Weak scaling** keeps the rows of each rank, so `N` ranks process `N` times the rows in the same time, if the
# all-reduce hides behind the backward pass. **Strong scaling** keeps the batch: each rank has 1 / N of the rows but
# sends the same bytes, so from some `N` on the all-reduce takes longer than the backward pass. The part that is not
# hidden is the *exposed* all-reduce.

# %% [markdown]
# Where losses count **tokens**, divide by the tokens of all ranks: all-reduce the number of tokens first, then multiply
# the sum of each rank's losses by `N` over that number, because DDP takes the mean.

# %% [markdown]
# ## Fewer bytes for each gradient
#
# DDP passes each bucket to a **communication hook**, `model.register_comm_hook(state, hook)`. PyTorch provides the
# plain all-reduce; `fp16_compress_hook`, and `bf16_compress_hook` where NCCL is available; `powerSGD_hook`, which sends
# two thin matrices in place of each gradient matrix; and `quantization_pertensor_hook`, with 8 bits per number, as in
# QSGD. The next cell runs the plain hook, fp16 and PowerSGD, and counts the bytes that they put into all-reduces for
# one update of 1 MiB of gradients. PowerSGD's bytes are computed, because callbacks start its all-reduces, and the
# counter does not see those.


# %%
def bytes_with_hook(rank, hook_name, updates):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    torch.manual_seed(0)
    model = DistributedDataParallel(make_chain(2, 256, 256))
    hook, state = getattr(default_hooks, hook_name, None), None
    if hook is None:
        hook = powerSGD_hook.powerSGD_hook
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, hook)
    for update in range(updates):
        torch.manual_seed(8 * update + rank)
        model.zero_grad()
        model(torch.randn(32, 256)).square().mean().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


# %%
exact = None
for hook_name in ("allreduce_hook", "fp16_compress_hook", "powerSGD_hook"):
    runs = [run_ranks(bytes_with_hook, 2, hook_name=hook_name, updates=updates) for updates in (5, 6)]
    fewer, more = (sum(size for kind, _, size in run.traffic[0].events if kind == "all_reduce") for run in runs)
    exact = runs[1].returned[0] if exact is None else exact
    error = float((runs[1].returned[0] - exact).norm() / exact.norm())
    kib, how = (more - fewer) / 1024, "measured"
    if hook_name == "powerSGD_hook":  # four matrices as two of 256 x 2 each, and four biases
        kib, how = (4 * 2 * 256 * 2 + 4 * 256) * 4 / 1024, "computed"
    print(f"{hook_name:<19} {kib:8.1f} KiB for update 6 ({how}), gradient off by {error:.1e} of its norm")

# %% [markdown]
# | | one device | data parallel, `N` ranks |
# |---|---|---|
# | memory of a device | whole model, its micro-batch | whole model, its micro-batch, buckets |
# | rows of an update | rows x `k` | rows x `k` x `N` |
# | sent by a rank for an update | nothing | `2 (N - 1) / N` x gradients |
# | **use it when** | | model and micro-batch fit on one device, and time counts |
# | **do not when** | | the model does not fit: shard it (lesson 18) |
# | **combine with** | | accumulation with `no_sync`, mixed precision, compression |

# %% [markdown]
# **How such a script is started.** `torchrun` starts the ranks and gives each `RANK`, `LOCAL_RANK` and `WORLD_SIZE`.
# The script first chooses its backend and its device: NCCL if every rank has a GPU of its own, gloo otherwise. The next
# cell writes such a script and runs it, as you would in a terminal with
# `torchrun --standalone --nproc_per_node=2 train_ddp.py`.

# %%
import subprocess
import sys
from pathlib import Path

script = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

local_rank, ranks_here = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
has_gpus = torch.cuda.device_count() >= ranks_here
if has_gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if has_gpus else "gloo")
device = torch.device("cuda", local_rank) if has_gpus else torch.device("cpu")
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
model(torch.full((4, 8), float(dist.get_rank()), device=device)).mean().backward()
print(f"rank {dist.get_rank()} of {dist.get_world_size()} on {device}: {model.module.weight.grad.mean().item():.2f}")
dist.destroy_process_group()
"""
Path("train_ddp.py").write_text(script)

# %%
command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "train_ddp.py"]
print(subprocess.run(command, capture_output=True, text=True).stdout)

# %% [markdown]
# Rank 0 has inputs of 0 and rank 1 inputs of 1, and both hold the mean gradient, 0.5. `accelerate config` asks once
# which machines you have and saves the answers; `accelerate launch script.py` then does what `torchrun` does, also for
# TPUs through XLA.

# %% [markdown] tags=["further"]
# ## Further: bug hunt
#
# These are the lines of the published script, shortened. `world_size` is larger than 1.
#
# ```python
# model = DDP(model, device_ids=[local_rank])
# raw_model = model.module if world_size > 1 else model
# ...
# logits = raw_model(input_ids)
# loss = raw_model.compute_loss(logits, labels)
# loss.backward()
# ```
#
# Which word is wrong, and why is it there? Before you run the next cell: how many all-reduces does the correct loop
# make in 20 updates, and how many does this one make?


# %%
def train_wrapped(rank, is_bypassed):
    model = DistributedDataParallel(make_chain(2, 16, 64))
    called = model.module if is_bypassed else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    losses = []
    for _ in range(20):
        inputs = torch.randn(32, 16)
        loss = (called(inputs) - inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], losses[-1], torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


for name, is_bypassed in (("model(inputs)", False), ("model.module(inputs)", True)):
    run = run_ranks(train_wrapped, 2, is_bypassed=is_bypassed)
    (first, last, weights), (*_, others) = run.returned
    calls = run.traffic[0].collectives["all_reduce"]
    print(f"{name:<21} {calls:>2} all-reduces, loss {first:.3f} to {last:.3f}", end=", ")
    print(f"largest difference between the ranks {float((weights - others).abs().max()):.1e}")

# %% [markdown]
# <details><summary>The wrong word</summary>
# It is raw_model, the module inside DDP. Only DDP's own forward method prepares the buckets, so its hooks do nothing
# here. compute_loss is a method of the module alone, which is why the script unwraps it. Let forward return the loss,
# and call model.
# </details>
#
# The loss falls here as well, with no error and no warning: to find out, you have to compare the ranks.

# %% [markdown]
# **Exercise.** Write the test that finds this fault: do all ranks hold the same weights?
#
# *Contract.*
# - Every rank calls your function. If all ranks hold the same weights, frozen ones included, it returns True on every
#   rank; otherwise it returns False **on every rank**, also on those that agree with each other.
# - The same means equal to the last bit: 0 and -0 differ, and a NaN equals the same NaN.
# - Do not change the model.

# %% [markdown]
# *Contract, continued.*
# - A rank puts at most 1 % of the bytes of the parameters into collectives, so send a digest of 32 bits or more instead
#   of the weights. Python's `hash()` of texts and bytes uses a different salt in each process.
# - All parameters are float32, on the CPU.
#
# The check runs 2 and 3 ranks, with equal weights and with small differences anywhere.

# %% tags=["given"]
import hashlib

from grader import check_data_parallel_agreement


# %% exercise="ranks_agree"
def ranks_agree(model) -> bool:
    """Return whether all ranks hold the same weights.

    Args:
        model: A module on the CPU, with float32 parameters; each rank calls this with its own.

    Returns:
        The same answer on every rank.
    """
    ### BEGIN SOLUTION
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
    ### END SOLUTION


# %%
def ask_ranks(rank, agree):
    model = make_chain(2, 16, 64)
    before = agree(model)
    if rank == 1:
        with torch.no_grad():
            model[0].weight[0, :2] = model[0].weight[0, :2].flip(0)
    print(f"equal weights: {before}; two numbers of rank 1 swapped: {agree(model)}")


run = look_at_ranks(ask_ranks, 3, agree=ranks_agree)

# %% check="check_data_parallel_agreement" points=1 tags=["needs-loopback"]
check_data_parallel_agreement(ranks_agree)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: hashlib.sha256() makes 32 bytes from any number of bytes. tensor.numpy().tobytes() returns the bytes of a
# tensor.<br>
# Then: all ranks are equal if the smallest and the largest are. all_reduce takes op=dist.ReduceOp.MIN.
# </details>

# %% [markdown] tags=["further"]
# ## Further: the same run in Lightning
#
# Many groups train with [Lightning][lightning]. It needs `pip install lightning`; without it, the next cells only say
# so. A `LightningModule` holds the loss and the optimizer, and its `Trainer` the loop: `strategy="ddp"` wraps the
# module, and `accumulate_grad_batches=k` divides the loss by `k` and all-reduces once for each update.
#
# [lightning]: https://lightning.ai/docs/pytorch/stable/


# %% tags=["given"]
def train_ranks_with_lightning(model, dataset, batch, k, learning_rate):
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, rows, index):
            return self.model(**rows).loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=learning_rate)

    ranks, rank = dist.get_world_size(), dist.get_rank()
    own = DataLoader(rows_of_one_process(dataset, batch // (ranks * k))[rank::ranks], batch_size=None)
    setting = {"accelerator": "cpu", "devices": ranks, "strategy": "ddp", "accumulate_grad_batches": k, "max_epochs": 1}
    off = ("use_distributed_sampler", "logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    lightning.Trainer(**setting, **dict.fromkeys(off, False)).fit(Classifier(), own)


# %%
import importlib.util

if importlib.util.find_spec("lightning"):
    raw, other = (
        run_ranks(run_form, 2, train=train, k=2).returned[0][0] for train in (train_raw, train_ranks_with_lightning)
    )
    distance = float(torch.linalg.vector_norm(other - raw) / torch.linalg.vector_norm(raw))
    print(f"the weights after Lightning's run are {distance:.1e} from those of the raw loop")
else:
    print("not run: lightning is not installed")

# %% [markdown]
# Lightning gives a `DataLoader` a `DistributedSampler` of its own. Here each rank's loader already holds that rank's
# rows alone, so `use_distributed_sampler` is off; otherwise each rank would train on half of its rows.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Four ranks, 8 rows in a micro-batch, k = 2: what is the effective batch?</summary>
# 64 rows: 8 x 2 x 4.
# </details>
# <details><summary>Which call must be inside no_sync, and why?</summary>
# The forward pass: it prepares the backward pass that follows, wherever that one is called.
# </details>
# <details><summary>What happens to gradients when you call model.module?</summary>
# Each rank keeps its own. Nothing is all-reduced, and the copies drift apart.
# </details>
#
# **Takeaway: data parallel training equals the large batch if all ranks start equal, read different rows, and average
# each update's gradients once.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 16, local SGD.

# %% [markdown]
# **Sources**
# - [PyTorch, DistributedDataParallel][ddp]: buckets, `no_sync`, `gradient_as_bucket_view`, `join` for uneven inputs.
# - [Li and others, PyTorch Distributed][paper]: why buckets, and how they overlap with backward.
# - [PyTorch, DistributedSampler][sampler]: repeated rows, and `set_epoch`.
# - [Accelerate, data loaders][loaders]: what `prepare` shards, `even_batches`, `split_batches`.
# - [Transformers, Trainer][trainer]: `average_tokens_across_devices`.
# - [Efficient deep learning systems, homework of week 6][published]: the script of the bug hunt.
#
# [ddp]: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
# [paper]: https://arxiv.org/abs/2006.15704
# [sampler]: https://docs.pytorch.org/docs/stable/data.html
# [loaders]: https://huggingface.co/docs/accelerate/package_reference/torch_wrappers
# [trainer]: https://huggingface.co/docs/transformers/main_classes/trainer
# [published]: https://github.com/mryab/efficient-dl-systems/blob/9f1fd56f63a031cca610e59afe0821e174fe7eaf/week06_dl_arithmetic/homework/train.py
