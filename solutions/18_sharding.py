# %% [markdown]
# # 18. Sharding
#
# You give each rank a share of the optimizer states, gradients and weights, and count what that saves and what it
# sends.
#
# 60 min (estimated) · CPU is enough · after lesson 15

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict what a rank holds and sends at each stage of ZeRO;
# - run AdamW with a share of its state on each rank, and get the same weights as with the whole state;
# - run a unit whose weights exist only while they are used;
# - shard a model with PyTorch, with Accelerate and with the Trainer, and check that it really is sharded.

# %% tags=["given"]
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from grader import MIB, allow_sharding_on_cpu, check_sharding_bytes, look, look_at_ranks, make_chain, run_ranks

print(f"measured on: processes of one machine, CPU, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 17: what does a pipeline split, and what does each stage still hold?</summary>
# It splits the layers. Each stage holds all weights, gradients and states of its own layers.
# </details>
# <details><summary>Lesson 15: how much does a rank send in a ring all-reduce of S bytes?</summary>
# 2 (N - 1) / N times S: a reduce-scatter, then an all-gather.
# </details>

# %% [markdown]
# **The problem.** A model of 7.5 billion parameters is trained in mixed precision with AdamW. Each parameter takes 2
# bytes for its weight, 2 for its gradient, and 12 for a float32 weight and two moments. In total that is 120 GB (here
# 1 GB is `10**9` bytes), more than the 80 GB of one GPU.
#
# You have 64 such GPUs. In data parallel training each of them would hold the same 120 GB. Which of these copies does
# a rank need, when does it need them, and what does it cost to fetch them?

# %% [markdown]
# ## Two halves of an all-reduce
#
# `dist.reduce_scatter_tensor(own, whole)` adds the vectors `whole` of all ranks and leaves **one share of the sum** on
# each rank. `dist.all_gather_into_tensor(whole, own)` puts the shares of all ranks together on every rank, in the
# order of the ranks. In both, all shares must have the same length.
#
# One after the other, they make an all-reduce. Between them, each rank holds only one share. Sharding makes use of
# this gap.


# %%
def halves(rank, world_size):
    whole = torch.arange(6.0) + 100 * rank
    own = torch.empty(6 // world_size)
    dist.reduce_scatter_tensor(own, whole)
    print(f"its share of the sum: {own.tolist()}")
    dist.all_gather_into_tensor(whole, own)
    return whole


run = run_ranks(halves, 3)
print(f"every rank in the end: {run.returned[0].tolist()}")
print(f"rank 0 put in (name, bytes): {[(name, size) for name, _, size in run.traffic[0].events]}")

# %% [markdown]
# The last line counts what a rank **puts in**: the whole vector into a reduce-scatter, and its share into an
# all-gather. In a ring, a rank **sends** the same in both: `N - 1` shares, which is `(N - 1) / N` of the whole vector.
# We call this amount one *pass*.
#
# **ZeRO** (*zero redundancy optimizer*) has three stages. Each includes the stages before it:
#
# | stage | a rank keeps only its share of | names |
# |---|---|---|
# | 0 | nothing | data parallel, DDP |
# | 1 | optimizer states, with the float32 weights | ZeRO-1 |
# | 2 | gradients too | ZeRO-2 |
# | 3 | 16-bit weights too | ZeRO-3, FSDP |

# %% [markdown]
# ## Predict: what a rank holds and sends
#
# Weights and gradients are 16-bit numbers, and only they are sent. A rank updates the share whose states it holds.
# Before the forward pass of a layer, and again before its backward pass, a rank needs that layer's whole weights; at
# stage 3 they are freed after each of the two.
#
# An update consists of `k` micro-batches. A rank that keeps whole gradients accumulates them locally. A rank that keeps
# only its share of them has no place to do so. (FSDP can postpone its reduce-scatter with
# `set_requires_gradient_sync(False)`, but then a rank holds whole gradients again.)

# %% [markdown]
# **Exercise.** Predict the bytes of one rank.
#
# *Contract.*
# - `stage` is 0 to 3. `state_bytes` are the bytes of optimizer state per parameter, float32 weights included.
# - Return two numbers: the bytes of weights, gradients and states that a rank holds at the end of the backward pass,
#   when no layer is gathered, and the bytes that it sends for one update of `k` micro-batches, in passes of a ring.
# - Shares are exact: do not round. Weights are sent no more often than the stage needs.
#
# The check asks about other jobs at each stage, with other optimizers and with accumulation.


# %% exercise="predict_sharding"
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> tuple[float, float]:
    """Predict what a rank holds and sends under ZeRO.

    Args:
        parameters: Parameters of the model, 16-bit, with 16-bit gradients.
        ranks: How many ranks share them.
        stage: 0 for data parallel, or the stage of ZeRO.
        state_bytes: Bytes of optimizer state per parameter.
        k: Micro-batches of one update.

    Returns:
        Bytes held, and bytes sent for one update.
    """
    ### BEGIN SOLUTION
    weights = 2 * parameters / (ranks if stage == 3 else 1)
    gradients = 2 * parameters / (ranks if stage >= 2 else 1)
    states = state_bytes * parameters / (ranks if stage >= 1 else 1)
    one_pass = 2 * parameters * (ranks - 1) / ranks
    passes = (2, 2, k + 1, 3 * k)[stage]
    return weights + gradients + states, passes * one_pass
    ### END SOLUTION


# %%
look(predict_sharding, 7_500_000_000, 64, 1, 12, 1)

# %% check="check_sharding_bytes" points=2
check_sharding_bytes(predict_sharding)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for each stage, which of the three numbers is divided by the ranks?<br>
# Then: draw a line through the k micro-batches of an update, and follow one gradient and one weight along it. Where
# are they sent between ranks?
# </details>

# %% [markdown]
# **Run.** Now compute the paper's example: 7.5 billion parameters on 64 ranks, in GB.

# %%
from grader import draw_curves

gigabytes = 10**9
sizes = (1, 2, 4, 8, 16, 32, 64)
table = look(lambda: [[predict_sharding(7_500_000_000, n, stage, 12, 1) for n in sizes] for stage in range(4)])
for stage, row in enumerate(table or []):
    held, sent = row[-1]
    print(f"stage {stage}: holds {held / gigabytes:6.1f} GB, sends {sent / 15e9:.2f} times the bytes of the weights")
if table:
    draw_curves(
        list(sizes),
        {f"stage {stage}": [held / gigabytes for held, _ in row] for stage, row in enumerate(table)},
        title="What one rank of N holds for 7.5 billion parameters",
        x_label="ranks N",
        y_label="GB",
    )

# %% [markdown]
# **Investigate.** The paper gives 120, 31.4, 16.6 and 1.9 GB. Stages 1 and 2 have a floor, which is what every rank
# keeps whole: 4 and 2 bytes per parameter. More ranks do not lower it. Only stage 3 keeps falling with 1 / N.
#
# Up to stage 2, an update of one micro-batch sends 2 passes, no more than data parallel training does. Stage 3 sends
# 3, half as much again. The paper says 2, 2 and 3 times the parameters, because it leaves out the factor
# `(N - 1) / N`.
#
# In words: *sharding states is free; sharding gradients costs `k - 1` passes more; sharding weights as well costs
# `3 k - 2` more, at least one.*

# %% [markdown]
# **Modify.** A library's estimate may differ from the paper's. DeepSpeed's documentation gives its own formulas for a
# GPU: `4 P + 16 P / N` for stage 2, and `4 L + 18 P / N` for stage 3, where `L` is the number of parameters of the
# largest layer. Before you run the cell: is each of the two larger or smaller than your prediction, and by which terms?


# %%
def estimate_of_deepspeed(parameters, ranks, stage, largest_layer):
    """Estimate bytes as DeepSpeed's documentation does, without offload."""
    return 4 * parameters + 16 * parameters / ranks if stage == 2 else 4 * largest_layer + 18 * parameters / ranks


for parameters, largest, ranks in ((2_851_000_000, 32_000_000, 8), (7_500_000_000, 200_000_000, 64)):
    for stage in (2, 3):
        own = look(lambda job=(parameters, ranks, stage, 12, 1): predict_sharding(*job)[0])
        library = estimate_of_deepspeed(parameters, ranks, stage, largest)
        text = f"yours {own / 2**30:5.2f} GiB" if own else ""
        print(f"{parameters / 1e9:.1f} B, {ranks} ranks, stage {stage}: DeepSpeed {library / 2**30:5.2f} GiB   {text}")

# %% [markdown]
# <details><summary>Answer</summary>
# Both are larger. DeepSpeed counts 16 bytes per parameter of a share: float32 weights, float32 gradients and two
# moments. At stage 2 it also counts 16-bit weights and gradients as whole, because a whole gradient exists at the end
# of the backward pass. At stage 3 it adds the 16-bit weights of the share, and one gathered layer with its gradient.
# Neither formula includes activations.
# </details>
#
# The first job is the documentation's own example, T5-3B on 8 GPUs: 15.93 and 6.09 GB, where GB means GiB.

# %% [markdown]
# ## ZeRO-1: a share of the state
#
# AdamW is element-wise, so a rank can update any share of the weights if it has the mean gradient of that share. After
# that, all ranks need all new weights.
#
# The number of weights is seldom a multiple of the number of ranks, but all shares must have the same length. Round
# the share up, and pad the vector with zeros: `F.pad(flat, (0, count))`.


# %% tags=["given"]
def flatten(tensors):
    """Return tensors as one new vector, in their order."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def write_back(flat, parameters):
    """Write the first numbers of a vector into parameters, in their order."""
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, part in zip(parameters, flat[: sum(sizes)].split(sizes), strict=True):
        parameter.detach().copy_(part.view_as(parameter))


# %% [markdown]
# **Exercise.** Complete a step with sharded state.
#
# *Contract.*
# - Every rank calls `make_sharded_step` with an equal model, and your `step()` after each backward pass on its own
#   rows.
# - `step` averages the gradients over the ranks, updates this rank's share with `torch.optim.AdamW` (`learning_rate`,
#   `eps=epsilon`), and leaves the new weights in `model` on every rank.
# - A rank's AdamW holds two numbers for each weight of its share: `ceil(total / N)` weights, or `ceil(size / N)` of
#   each tensor.
# - Use one reduce-scatter and one all-gather per update, not per tensor.
#
# The check runs on 2, 3 and 4 ranks, none of which divides the number of trained weights. One model has a frozen
# parameter.

# %% tags=["given"]
from grader import check_sharded_state, check_sharded_weights


# %% exercise="make_sharded_step"
def make_sharded_step(model, learning_rate: float, epsilon: float):
    """Return a step that shards AdamW's state over the ranks.

    Args:
        model: A float32 module on the CPU, equal on all ranks.
        learning_rate: Learning rate of AdamW.
        epsilon: The `eps` of AdamW; all its other arguments keep their defaults.

    Returns:
        step(), to be called after each backward pass; the caller clears the gradients.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = sum(parameter.numel() for parameter in parameters)
    ### BEGIN SOLUTION
    share = -(-total // world_size)
    padding = share * world_size - total
    own = F.pad(flatten(parameters), (0, padding)).chunk(world_size)[rank].clone()
    optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)

    def step():
        gradients = flatten([parameter.grad for parameter in parameters])
        own.grad = torch.empty_like(own)
        dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
        own.grad /= world_size
        optimizer.step()
        gathered = torch.empty(share * world_size)
        dist.all_gather_into_tensor(gathered, own)
        write_back(gathered, parameters)

    ### END SOLUTION
    return step


# %%
def try_step(rank, world_size, make_step):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    step = make_step(model, 0.1, 0.1)
    for _ in range(2):
        model.zero_grad()
        model(torch.full((1, 4), rank + 1.0)).sum().backward()
        step()
    return flatten(model.parameters())


run = look_at_ranks(try_step, 2, make_step=make_sharded_step)
if run:
    for rank, weights in enumerate(run.returned):
        print(f"rank {rank}: {[round(weight, 4) for weight in weights.tolist()]}")
    print(f"rank 0 put in: {[(name, size) for name, _, size in run.traffic[0].events]}")

# %% check="check_sharded_weights" points=2 tags=["needs-loopback"]
check_sharded_weights(make_sharded_step)

# %% check="check_sharded_state" points=2 tags=["needs-loopback"]
check_sharded_state(make_sharded_step)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: with five numbers on two ranks, how long is a share, and what is in the last place of the second one?<br>
# Then: AdamW updates whatever tensor you give it, if that tensor has a .grad. Which tensor should this rank's AdamW
# hold?
# </details>

# %% [markdown]
# Why are there two checks? A step that keeps all states on every rank ends with the same weights. It passes a test of
# weights alone, although it saves nothing. **Sharding shows in bytes, not in values.**
#
# The check uses a large `epsilon` on purpose. With the default of 1e-8, AdamW divides a gradient by its own size, so a
# sum instead of a mean would hardly show either.
#
# <details><summary>Explain in one sentence: why is ZeRO-1 called free?</summary>
# It splits the all-reduce that data parallel training makes anyway, and updates the weights between its halves.
# </details>

# %% [markdown]
# ## ZeRO-3: weights that come and go
#
# At stage 3 a rank holds a share of each **unit**, for example of each block. It gathers a unit's weights before the
# unit's forward pass and frees them afterwards. The backward pass needs them again, and produces a whole gradient of
# the unit, of which each rank keeps its share.
#
# What could still hold freed weights? Autograd, because `inputs @ weight` saves `weight` for the backward pass. With
# your own `torch.autograd.Function` (lesson 03), you decide what is saved. The next cell is a natural first attempt: a
# Function gathers the weights, and its backward reduces their gradient.


# %% tags=["given"]
def gather(shard, total):
    """Return the first `total` numbers of the shares of all ranks, without a graph."""
    whole = torch.empty(shard.numel() * dist.get_world_size())
    dist.all_gather_into_tensor(whole, shard.detach())
    return whole[:total]


# %%
def run_gathered(run, shard, total, inputs):
    """Run a unit on gathered weights: its gradients are right, but is its memory?"""
    world_size = dist.get_world_size()

    class Gathered(torch.autograd.Function):
        @staticmethod
        def forward(ctx, shard):
            return gather(shard, total)

        @staticmethod
        def backward(ctx, gradient):
            own = torch.empty_like(shard)
            dist.reduce_scatter_tensor(own, F.pad(gradient, (0, len(own) * world_size - total)))
            return own / world_size

    return run(Gathered.apply(shard), inputs)


# %% [markdown]
# **Exercise.** Write a unit whose weights are whole only while they are used.
#
# *Contract.*
# - `run(flat, inputs)` returns the unit's outputs; `flat` has exactly `total` weights. `shard` is this rank's share: a
#   leaf of one length on all ranks, zero-padded on the last ones.
# - Return the outputs. After a backward pass, `shard.grad` is the mean over the ranks, zero in the padding; `inputs`
#   has its own gradient, not averaged.
# - Per unit: one all-gather in forward, one more and a reduce-scatter in backward, where you may call `run` again.
#
# The peak may hold five whole units in addition to shares, their gradients, and the inputs of each unit.

# %% tags=["given"]
from grader import check_sharded_gradients, check_sharded_peak


# %% exercise="run_sharded"
def run_sharded(run, shard, total: int, inputs):
    """Run a unit on gathered weights, and free them after its forward pass and after its backward pass.

    Args:
        run: run(flat, inputs), the unit's forward pass, with the weights as one vector.
        shard: This rank's share of the weights, a leaf.
        total: Weights of the unit, without padding.
        inputs: Rows of this rank.

    Returns:
        The outputs, whose graph leads to `shard` and `inputs`.
    """
    world_size = dist.get_world_size()
    ### BEGIN SOLUTION

    class Unit(torch.autograd.Function):
        @staticmethod
        def forward(ctx, shard, inputs):
            ctx.save_for_backward(inputs)
            return run(gather(shard, total), inputs)

        @staticmethod
        def backward(ctx, gradient):
            leaf, flat = ctx.saved_tensors[0].detach().requires_grad_(), gather(shard, total).requires_grad_()
            with torch.enable_grad():
                outputs = run(flat, leaf)
            of_inputs, of_flat = torch.autograd.grad(outputs, (leaf, flat), gradient)
            own = torch.empty_like(shard)
            dist.reduce_scatter_tensor(own, F.pad(of_flat, (0, len(own) * world_size - total)))
            return own / world_size, of_inputs

    return Unit.apply(shard, inputs)
    ### END SOLUTION


# %%
def peak_of_units(rank, world_size, run_unit, units):
    from grader import measure_peak_memory

    def run(flat, inputs):
        first, second = flat.split(64 * 128)
        return inputs + torch.tanh(inputs @ first.view(64, 128)) @ second.view(128, 64)

    total = 2 * 64 * 128
    shards = [torch.full((-(-total // world_size),), 0.01, requires_grad=True) for _ in range(units)]

    def step():
        hidden = torch.ones(4, 64)
        for shard in shards:
            shard.grad = None
            hidden = run_unit(run, shard, total, hidden.requires_grad_() if shard is shards[0] else hidden)
        hidden.sum().backward()

    return measure_peak_memory(step, inputs=shards).peak_bytes / MIB


# %%
depths, peaks = [4, 8, 16, 24], {}
for name, function in (("gathered by a Function", run_gathered), ("freed after use", run_sharded)):
    runs = [look_at_ranks(peak_of_units, 4, run_unit=function, units=units) for units in depths]
    if all(runs):
        peaks[name] = [run.returned[0] for run in runs]
peaks["all units whole, as a sum"] = [units * 2 * 64 * 128 * 4 / MIB for units in depths]
draw_curves(depths, peaks, title="Peak of one of 4 ranks", x_label="units", y_label="MiB")

# %% check="check_sharded_gradients" points=2 tags=["needs-loopback"]
check_sharded_gradients(run_sharded)

# %% check="check_sharded_peak" points=2 tags=["needs-loopback"]
check_sharded_peak(run_sharded)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which tensors does the backward pass need, and which of them can be computed again?<br>
# Then: save only the inputs. In backward, gather, run the unit again under torch.enable_grad() on detached leaves, and
# ask torch.autograd.grad for both gradients.
# </details>

# %% [markdown]
# The first line rises faster than the sum of all whole weights. Its gradients are right, but autograd saved each
# gathered vector, so at the peak no weights were sharded. The second line rises only with the shares.
#
# You recomputed the unit, as gradient checkpointing does. FSDP does not need to: it empties the *storage* of the
# gathered weights and fills it again before the backward pass, so that what autograd saved is valid again.
#
# <details><summary>Explain in one sentence: what does a smaller unit cost and save?</summary>
# The peak holds fewer gathered weights, but there are more collectives, each with a latency of its own.
# </details>

# %% [markdown]
# ## FSDP2: `fully_shard`
#
# PyTorch's stage 3 is called *fully sharded data parallel*. `fully_shard(module)` makes a module one unit: its
# parameters become `DTensor`s, cut along their first dimension. Call it **on each block, and then on the model**,
# which takes the remaining parameters. Create the optimizer afterwards. If you call it on the model alone, all weights
# are one unit.
#
# `reshard_after_forward=False` keeps gathered weights until the backward pass: one pass less than stage 3 in each
# micro-batch, and at the peak all weights are whole, as at stage 2. It frees them after backward, so `k` micro-batches
# send `2 k` passes and not `k + 1`. A mixed-precision policy sets the formats in which weights are gathered and
# gradients are reduced; the shares stay float32.


# %%
def use_fully_shard(rank, how):
    from torch.distributed.device_mesh import init_device_mesh

    model, options = make_chain(4, 64, 256), {}
    if how == "bf16 gathered":
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if how == "HSDP, 2 x 2":
        options["mesh"] = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shares"))
    for layer in model if how != "model only" else []:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, reshard_after_forward=how != "kept after forward", **options)
    fully_shard(model, **options)
    model(torch.randn(4, 64)).square().mean().backward()
    return sum(parameter.to_local().nbytes for parameter in model.parameters()) / 1024


for how in ("each layer, freed", "kept after forward", "bf16 gathered", "HSDP, 2 x 2", "model only"):
    run = run_ranks(use_fully_shard, 4, how=how)
    kib = {name: 0.0 for name in ("all_gather", "reduce_scatter", "all_reduce")}
    for name, _, size in run.traffic[0].events:
        kib[name] += size / 1024
    print(f"{how:<19} holds {run.returned[0]:6.1f} KiB, put in: { ({name: round(one) for name, one in kib.items()}) }")

# %% [markdown]
# Weights that are freed are gathered twice, and weights that are kept only once. In the last row the model is the
# outermost unit, which is kept after forward by default. A bf16 policy halves the bytes of the all-gathers. **HSDP**
# (*hybrid sharded data parallel*) shards within a group, here of 2, and all-reduces the shares between groups. A rank
# then holds twice as much, but only shares cross the slow link between machines. ZeRO++ (2023) has the same aim: it
# keeps a second shard of the weights within each machine, and quantizes what is gathered to 8 bits and what is reduced
# to 4.

# %% [markdown]
# ## The same run in three forms
#
# | | raw | Accelerate | Trainer |
# |---|---|---|---|
# | switch on | `fully_shard` | `fsdp_plugin=...` of `Accelerator` | `fsdp=True` |
# | which units | you call it for each block | `transformer_cls_names_to_wrap` | `transformer_layer_cls_to_wrap` |
# | free after forward | `reshard_after_forward` | the same | the same |
# | prepare | optimizer after sharding | model and optimizer in **one** `prepare` | done for you |
#
# The plugin is `FullyShardedDataParallelPlugin(fsdp_version=2, ...)` with `auto_wrap_policy="transformer_based_wrap"`.
# The Trainer takes its settings as the dictionary `fsdp_config`. Its defaults are FSDP2 and that policy, whose name it
# wants in upper case: `"TRANSFORMER_BASED_WRAP"`. Name the classes in a list, here `["BertLayer"]`.

# %% [markdown]
# **A trap.** On CPU ranks, Accelerate 1.15 **silently drops the plugin** and wraps the model in DDP, and so does the
# Trainer. The weights are right, but nothing is sharded. On CUDA the model is sharded.
#
# `fully_shard` itself works on a CPU. On a CPU, this course's `allow_sharding_on_cpu()` sets the two attributes that
# Accelerate sets on a GPU; the rest is Accelerate's own code. The checks call it before your function, so do not call
# it there yourself. On CUDA it is not needed.

# %% tags=["given"]
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, plain_trainer_arguments, tokenize_pairs

same_run = plain_trainer_arguments("cpu") | {"optim": "adamw_torch", "weight_decay": 0.01}


def train_raw(model, dataset, batch, reshard, learning_rate):
    """Train one epoch with AdamW in the raw form."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for block in model.bert.encoder.layer:
        fully_shard(block, reshard_after_forward=reshard)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for rows in list(DataLoader(dataset, batch_size=batch // world_size))[rank::world_size]:
        model(**rows).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% [markdown]
# **Exercise.** Write both forms.
#
# *Contract (both).*
# - Train one epoch in float32 with PyTorch's AdamW at `learning_rate`. `batch` counts the rows of one update on **all**
#   ranks, in the order of `dataset`. Do not accumulate.
# - Each `BertLayer` is a unit, and so is the rest of the model. `reshard` says whether blocks are freed after the
#   forward pass.
# - Accelerate: use `Accelerator(cpu=True, ...)` and its `backward`.
# - Trainer: use `TrainingArguments(**same_run, ...)`, and first set the model's `accepts_loss_kwargs` to `False`, as
#   in lesson 15.
#
# The check runs on 2 and 3 ranks. It compares the first and the last gradient, the bytes of each rank, and how often
# blocks are gathered.

# %% tags=["given"]
from grader import check_sharded_accelerate, check_sharded_trainer


# %% exercise="train_sharded_with_accelerate"
def train_sharded_with_accelerate(model, dataset, batch: int, reshard: bool, learning_rate: float) -> None:
    """Train one epoch with Accelerate on a model sharded by FSDP2.

    Args:
        model: A BERT classifier, whole on each rank.
        dataset: Tokenized pairs, in their order.
        batch: Rows of one update on all ranks.
        reshard: Whether blocks are freed after the forward pass.
        learning_rate: Learning rate of torch.optim.AdamW.
    """
    ### BEGIN SOLUTION
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        reshard_after_forward=reshard,
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["BertLayer"],
    )
    accelerator = Accelerator(cpu=True, fsdp_plugin=plugin)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // accelerator.num_processes)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for rows in loader:
        accelerator.backward(model(**rows).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="train_sharded_with_trainer"
def train_sharded_with_trainer(model, dataset, batch: int, reshard: bool, learning_rate: float) -> None:
    """Train one epoch with the Trainer on a model sharded by FSDP2.

    Args:
        model: A BERT classifier, whole on each rank.
        dataset: Tokenized pairs, in their order.
        batch: Rows of one update on all ranks.
        reshard: Whether blocks are freed after the forward pass.
        learning_rate: Learning rate of torch.optim.AdamW.
    """
    ### BEGIN SOLUTION
    model.accepts_loss_kwargs = False
    units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
    own = {"per_device_train_batch_size": batch // dist.get_world_size(), "learning_rate": learning_rate}
    arguments = TrainingArguments(**same_run, **own, fsdp=True, fsdp_config=units)
    Trainer(model, arguments, train_dataset=dataset).train()
    ### END SOLUTION


# %%
def run_form(rank, train, is_allowed):
    import time

    from torch.optim.optimizer import register_optimizer_step_pre_hook

    if is_allowed:
        allow_sharding_on_cpu()
    dataset = tokenize_pairs(make_sentence_pairs(pairs=48), make_tokenizer())
    model, held = make_pair_classifier(), {}
    hook = register_optimizer_step_pre_hook(lambda optimizer, *_: held.update(state=optimizer.state))
    started = time.perf_counter()
    train(model, dataset, 16, True, 1e-3)
    seconds = time.perf_counter() - started
    hook.remove()
    wholes = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
    tensors = [value for state in held["state"].values() for value in state.values()]
    own = [t.to_local() if hasattr(t, "to_local") else t for t in (*model.parameters(), *tensors)]
    return flatten(wholes), sum(tensor.nbytes for tensor in own), seconds


# %%
forms = {"raw": (train_raw, True), "Accelerate on a CPU, as it is": (train_sharded_with_accelerate, False)}
forms |= {"Accelerate": (train_sharded_with_accelerate, True), "Trainer": (train_sharded_with_trainer, True)}
print(f"{'2 ranks':<30} {'from raw':>9} {'weights and states of a rank':>30} {'epoch':>8}")
reference = None
for name, (train, is_allowed) in forms.items():
    run = look_at_ranks(run_form, 2, train=train, is_allowed=is_allowed)
    if run:
        weights, held_bytes, seconds = run.returned[0]
        reference = weights if reference is None else reference
        distance = float((weights - reference).norm() / reference.norm())
        print(f"{name:<30} {distance:>9.1e} {held_bytes / MIB:>26.2f} MiB {seconds:>6.2f} s")

# %% check="check_sharded_accelerate" points=1 tags=["needs-loopback"]
check_sharded_accelerate(train_sharded_with_accelerate)

# %% check="check_sharded_trainer" points=1 tags=["needs-loopback"]
check_sharded_trainer(train_sharded_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the second line of the table holds twice the bytes of the others. What would you ask a rank to find this
# out?<br>
# Then: you need five settings: version, policy, class, reshard, and the rows of one rank.
# </details>

# %% [markdown]
# The last two rows have the weights and the bytes of the raw form. The row without `allow_sharding_on_cpu()` has only
# its weights, so once more sharding shows in bytes. In your own runs, ask a rank for `parameter.to_local().nbytes`.
# The times here are of processes that share one machine, and include the start of the libraries; they do not describe
# a GPU.

# %% [markdown]
# ## DeepSpeed's place
#
# ZeRO comes from DeepSpeed (Microsoft). DeepSpeed is configured by JSON: `TrainingArguments(deepspeed=...)` takes a
# file or a dictionary, and Accelerate has `DeepSpeedPlugin(zero_stage=3)`. The Trainer fills in every `"auto"`.
# DeepSpeed is not installed here, so the next cell prints its configuration only. In a notebook, it needs the
# variables that a launcher sets (`MASTER_ADDR`, `RANK`, `WORLD_SIZE`), and several GPUs need the processes of a
# launcher.

# %%
import json

same = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"}}
stages = {stage: same | {"zero_optimization": {"stage": stage}} for stage in (1, 2, 3)}
stages[3]["zero_optimization"] |= {"stage3_gather_16bit_weights_on_model_save": True}
stages["3, offload"] = same | {
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}
}
for stage, config in stages.items():
    print(f"stage {stage}: {json.dumps(config['zero_optimization'])}")

# %% [markdown]
# Advice published in 2023 says: if the model and a small batch fit on one GPU, DeepSpeed only slows you down. If not,
# use ZeRO with offload. Between these two cases there is a question: **what** does not fit?
#
# | on one device | do |
# |---|---|
# | all fits | data parallel; sharding only adds latency |
# | the batch does not | smaller micro-batches with accumulation, checkpointing: no sharding needed |
# | the states do not | stage 1, or an optimizer with less state |
# | weights and gradients fit, but not with a share of states | stage 2, if you accumulate little |
# | the weights do not | stage 3 or FSDP; HSDP if one machine's GPUs suffice |
# | not even the share | offload (lesson 19), or more ranks |

# %% [markdown]
# ## The price
#
# The next cell asks your formula for each stage, and shows time next to memory: the seconds to send the bytes over
# links of 300 GB/s and of 12.5 GB/s (a 100 Gbit/s network). Both are round numbers, not measurements.

# %%
for k in (1, 8):
    for stage in range(4):
        both = look(lambda job=(7_500_000_000, 64, stage, 12, k): predict_sharding(*job))
        if both:
            fast, slow = (both[1] / rate for rate in (300e9, 12.5e9))
            text = f"{both[0] / 1e9:6.1f} GB held, {both[1] / 1e9:6.1f} GB sent: {fast:5.2f} s or {slow:6.1f} s"
            print(f"k = {k}, stage {stage}: {text}")

# %% [markdown]
# | | ZeRO-1 | ZeRO-2 | ZeRO-3, FSDP |
# |---|---|---|---|
# | **use it when** | states do not fit | gradients do not fit, few micro-batches | weights do not fit |
# | **do not when** | the optimizer has no state | you accumulate much | the link is slow and stage 1 fits |
# | **combine with** | accumulation | bf16 | checkpointing, bf16 gathers, HSDP |
#
# With `k = 8` stage 2 sends 9 passes and stage 3 sends 24, where stage 1 sends 2. If you shard more than needed and
# accumulate, you pay for it in every micro-batch. The remedy is larger micro-batches, which the freed memory allows.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Which stage is the first to hold less than a whole gradient, and what does it lose?</summary>
# Stage 2. It can no longer accumulate micro-batches without sending.
# </details>
# <details><summary>Two ranks end with equal weights. What does that show about sharding?</summary>
# Nothing. Ask for the bytes of state and of parameters on each rank.
# </details>
# <details><summary>Why does FSDP gather a block twice, and how is that switched off?</summary>
# It frees the block after the forward pass. reshard_after_forward=False keeps the block, and so its memory.
# </details>
#
# **Takeaway: shard the largest thing that does not fit, and no more; trust bytes, because the weights are right either
# way.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 19, offloading.

# %% [markdown]
# **Sources**
# - [Rajbhandari and others, ZeRO][zero] (2020): the stages, 120, 31.4, 16.6 and 1.9 GB, and 2, 2, 3 times.
# - [PyTorch, fully_shard][fsdp]: units, resharding, meshes, the mixed-precision policy.
# - [Zhao and others, PyTorch FSDP][paper] (2023): storages that are emptied and filled again, hybrid sharding.
# - [Accelerate, FSDP][accelerate] and its source, version 1.15: the plugin, and where a CPU drops it.
# - [Transformers, FSDP][trainer]: `fsdp` and `fsdp_config`.
# - [DeepSpeed, memory requirements][memory]: the estimators' formulas, and the example of T5-3B.
# - [Wang and others, ZeRO++][plus] (2023): 8-bit gathers, 4-bit reductions, a second shard in the machine.
# - [Hugging Face, Efficient training on a single GPU][tree], version 4.30: the published decision tree.
#
# [zero]: https://arxiv.org/abs/1910.02054
# [fsdp]: https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
# [paper]: https://arxiv.org/abs/2304.11277
# [accelerate]: https://huggingface.co/docs/accelerate/usage_guides/fsdp
# [trainer]: https://huggingface.co/docs/transformers/fsdp
# [memory]: https://deepspeed.readthedocs.io/en/latest/memory.html
# [plus]: https://arxiv.org/abs/2306.10209
# [tree]: https://huggingface.co/docs/transformers/v4.30.0/perf_train_gpu_one
