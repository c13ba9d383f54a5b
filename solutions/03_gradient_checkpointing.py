# %% [markdown]
# # 3. Gradient checkpointing
#
# You discard activations, recompute them when the backward pass needs them, and measure what that saves and costs.
#
# 65 min (estimated) · CPU is enough · after lesson 02

# %% [markdown] objectives="1; 2; 3 4"
# **You will be able to**
# - predict the peak when every k blocks form one checkpoint, and choose k;
# - write a checkpoint as a `torch.autograd.Function`, with the gradients of the plain block;
# - train with checkpointed layers in a raw loop, with Accelerate and with the Trainer, and measure what each form
#   saves.

# %% tags=["given"]
import torch
import torch.nn.functional as F

from grader import MIB, check_segment_peak, device_name, format_bytes, lesson_device, look, measure_peak_memory

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Which part of memory does gradient accumulation reduce?</summary>
# The activations: only those of one micro-batch are held, not those of the whole batch.
# </details>
# <details><summary>Which argument of the Trainer draws the rows at random by default?</summary>
# `train_sampling_strategy`, whose default is "random".
# </details>

# %% [markdown]
# **The problem.** Accumulation splits the batch by rows. What if even a single row does not fit?
#
# The model of this lesson has 64 blocks: Linear(64, 64), then Tanh. With 4,096 rows, the tensor between two blocks
# takes 1 MiB, and all parameters together take 1 MiB. The forward and backward passes hold 68 MiB at their peak.
#
# A block can be computed again from its input alone. Which of the 68 MiB have to stay in memory?

# %% [markdown]
# ## What autograd keeps
#
# Each operation saves what its own backward pass needs. Before you run the cell: how many tensors does `a + b` save,
# and how many does `a * b` save?

# %%
from grader import measure_saved_tensors

a, b = (torch.randn(512, 512, device=device, requires_grad=True) for _ in range(2))
operations = {
    "a + b": lambda: a + b,
    "a * b": lambda: a * b,
    "a @ b": lambda: a @ b,
    "tanh(a)": lambda: torch.tanh(a),
    "gelu(a)": lambda: F.gelu(a),
    "gelu(a @ b)": lambda: F.gelu(a @ b),
    "tanh(a) @ b": lambda: torch.tanh(a) @ b,
}
for name, operation in operations.items():
    saved = measure_saved_tensors(operation)
    print(f"{name:<12} saves {len(saved.rows)} tensors, {format_bytes(saved.total_bytes)}")

# %% [markdown]
# A sum saves **nothing**: its gradient is passed on unchanged. A product saves **both** factors, because the gradient
# with respect to one is computed from the other. GELU saves its input. Tanh saves its output, because its derivative
# is 1 - output².
#
# Compare the last two. The input of GELU is a separate tensor, so three are saved. The output of Tanh is also the
# input of the product: the same storage, counted once. A block of Linear and Tanh therefore adds only **one** tensor.

# %% [markdown]
# ## Predict: the peak for every k
#
# *Gradient checkpointing* groups `k` blocks into one **segment**. The forward pass keeps the input of each segment
# and frees everything else. The backward pass visits the segments from last to first: it runs each segment forward
# again from its kept input, uses the activations that this produces, and frees them.
#
# `checkpoint(segment, states, use_reentrant=False)` does this. For now, use it without looking inside.


# %% tags=["given"]
from torch.utils.checkpoint import checkpoint

from grader import make_thin_blocks, make_wide_blocks


def run_segments(blocks, states: torch.Tensor, k: int) -> torch.Tensor:
    """Run all blocks, every k of them in one checkpoint; states are [batch, width]."""
    for start in range(0, len(blocks), k):
        states = checkpoint(blocks[start : start + k], states, use_reentrant=False)
    return states


def make_step(blocks, batch: int, k: int, place=device) -> dict:
    """One forward and backward in segments of k blocks, as measure_peak_memory takes it."""
    blocks = blocks.to(place)
    inputs = torch.randn(batch, blocks[0][0].in_features, device=place)  # [batch, width]

    def step():
        blocks.zero_grad()
        outputs = run_segments(blocks, inputs, k)
        outputs.sum().backward()

    return {"step": step, "model": blocks, "inputs": inputs}


# %% [markdown]
# Two sizes describe a block.
#
# - *Boundary*: the bytes of its input, the previous block's output. All boundaries are equal.
# - *Interior*: the bytes that the backward pass needs besides input and output. Linear and Tanh have none.
#
# **Exercise.** Predict the peak, which occurs when a segment has run again.
#
# *Contract.*
# - Count the parameters and what the checkpoints hold at that moment. Leave out gradients.
# - Add **two boundaries**: the output of the chain, a variable of `step`, and one buffer of the current operation. A
#   **recomputed** output is a new tensor.
# - `k` divides `blocks`. Return bytes.
#
# The check allows an error of 3 % of the measured peak, on other chains, some with an interior. The meters do not work
# inside your function.


# %% exercise="predict_segment_peak"
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    """Peak of forward and backward, with every k blocks in one checkpoint.

    Args:
        parameter_bytes: Bytes of all parameters.
        boundary_bytes: Bytes of the input of a block; its output has as many.
        interior_bytes: Bytes that backward needs of one block besides input and output; may be 0.
        blocks: Blocks of the chain.
        k: Blocks in one checkpoint; divides `blocks`.

    Returns:
        Bytes held at the peak.
    """
    ### BEGIN SOLUTION
    kept_inputs = blocks // k * boundary_bytes
    one_segment = k * (boundary_bytes + interior_bytes)
    return parameter_bytes + kept_inputs + one_segment + 2 * boundary_bytes
    ### END SOLUTION


# %%
look(lambda: format_bytes(predict_segment_peak(MIB, MIB, 0, 64, 4)))

# %% check="check_segment_peak" points=2
check_segment_peak(predict_segment_peak)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw 12 blocks in segments of 4, and mark what is kept when the forward pass has ended.<br>
# Then: the backward pass reaches the last segment. Mark what is in memory once its 4 blocks have run again: how many
# outputs of blocks, in addition to the kept inputs?
# </details>

# %% [markdown]
# **Run.** The next cell draws your curve and the measured one, for all k. It takes about 8 seconds. The cell after it
# shows two of these runs over time.

# %%
from grader import draw_bars, draw_curves, draw_timelines

sizes = [1, 2, 4, 8, 16, 32, 64]
thin = {k: measure_peak_memory(**make_step(make_thin_blocks(64, 64), 4096, k)) for k in sizes}
parameter_bytes = thin[1].parameter_bytes
curves = {"measured": [thin[k].peak_bytes / MIB for k in sizes]}
predicted = look(lambda: [predict_segment_peak(parameter_bytes, MIB, 0, 64, k) for k in sizes])
if predicted:
    curves["predicted"] = [peak_bytes / MIB for peak_bytes in predicted]
title = "64 thin blocks, 4,096 rows"
draw_curves(sizes, curves, title=title, x_label="k, blocks in one checkpoint", y_label="MiB held at the peak")

# %%
draw_timelines({"k = 64": thin[64], "k = 8": thin[8]}, title=title)

# %% [markdown]
# **Investigate.** With `k = 64` there is one checkpoint for the whole chain. It saves nothing, because once the
# segment has run again, all activations are back in memory. With `k = 1` all 64 inputs are kept, and that is
# everything too.
#
# The minimum is between the two, at `k = 8`: `n / k` inputs are kept, and one segment of `k` blocks is fully in
# memory. The sum `n / k + k` is smallest where both parts are equal, at `k = √n`. The peak is then about `2 √n`
# boundaries instead of `n`. This is the **square-root law**.
#
# In the second panel, `k = 8`, each of the 8 teeth is one segment that runs again, starting with the last segment.

# %% [markdown]
# **Modify.** The next cell has 16 blocks and `k = 8`. Before you run it: does `k = 4` lower the peak, raise it, or
# leave it unchanged? Then change `k`.

# %%
k = 8
print(measure_peak_memory(**make_step(make_thin_blocks(16, 64), 4096, k)))

# %% [markdown]
# <details><summary>Answer</summary>
# It lowers the peak by 2 MiB: 4 + 4 is less than 2 + 8, and √16 is 4.
# </details>
#
# **Wide blocks.** Now take the chain of lessons 01 and 02: 16 blocks of Linear(256, 1024), GELU, Linear(1024, 256),
# with 512 rows and AdamW. A boundary is 0.5 MiB. GELU saves its input, and the second Linear saves its own, so the
# interior is 4 MiB. √16 is 4. Is `k = 4` the best choice? The next cell forecasts the peaks with the CPU's operators,
# which gives the measured values.

# %%
from grader import forecast_peak_memory


def make_wide_update(k: int) -> dict:
    job = make_step(make_wide_blocks(16, 256, 1024), 512, k, "cpu")
    optimizer = torch.optim.AdamW(job["model"].parameters(), foreach=False)

    def step():
        job["step"]()
        optimizer.step()

    return job | {"step": step, "optimizer": optimizer}


wide = {f"k = {k}": forecast_peak_memory(lambda k=k: make_wide_update(k), operators="cpu") for k in (1, 2, 4, 8, 16)}
draw_bars(wide, title="16 wide blocks, 512 rows, one AdamW update")

# %% [markdown]
# `k = 1` is the best choice. What counts is no longer how many inputs are kept, but how large one segment is: 4.5 MiB
# for each block in it. With boundary `b` and interior `i`, the sum is `n / k · b + k · (b + i)`, which is smallest at
# `k = √(n · b / (b + i))`.
#
# | | n | b | i | best k |
# |---|---|---|---|---|
# | thin | 64 | 1 MiB | 0 | 8 |
# | wide | 16 | 0.5 MiB | 4 MiB | 1.3 |
#
# Layers of a transformer are wide, so libraries checkpoint every layer by itself.
#
# For small `k`, the peak has also **moved**. With `k = 1` its bar contains nearly all gradients: it is no longer where
# the backward pass begins, but in the segment that this pass reaches last. With `k = 16` it contains hardly any
# gradients.

# %% [markdown]
# **Names.** *Gradient checkpointing* is called *activation checkpointing* in PyTorch's documentation, and
# *recomputation* or *rematerialisation* elsewhere. It has nothing to do with a checkpoint that is saved to disk.
#
# **Why not keep even less?** You could keep only the input of the chain, and run from the start up to each block.
# Memory would no longer grow with `n`, but compute would grow with its square: for 64 blocks,
# `64 + 63 + ... + 1 = 2,080` forward passes of a block. Segments need 128 for any `k`, because each block runs twice.
#
# <details><summary>Explain in one sentence: why does one checkpoint around the whole model save nothing?</summary>
# When it runs again in the backward pass, all activations of the model are in memory at once, as without it.
# </details>

# %% [markdown]
# ## Complete: a checkpoint of your own
#
# With `torch.autograd.Function` you write both directions of an operation yourself. Here is a worked example first.
# `forward` computes the output and saves what `backward` needs. `backward` receives the gradient of the output and
# returns one gradient for each argument of `apply`.


# %%
class Square(torch.autograd.Function):
    """The square of each element, and its derivative."""

    @staticmethod
    def forward(ctx, inputs):
        """Compute the output, and save what backward needs."""
        print("forward: is a graph made?", torch.is_grad_enabled())
        ctx.save_for_backward(inputs)
        return inputs * inputs

    @staticmethod
    def backward(ctx, output_gradient):
        """Return the gradient of the input."""
        print("backward: is a graph made?", torch.is_grad_enabled())
        (inputs,) = ctx.saved_tensors
        return 2 * inputs * output_gradient


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
Square.apply(x).sum().backward()
print("gradient of the sum of squares:", x.grad.tolist())

# %% [markdown]
# Neither direction builds a graph. What a block computes in `forward` is therefore freed at once, as a checkpoint
# requires. In `backward` you have to ask for a graph: `with torch.enable_grad():`.
#
# Other properties of a `Function`:
#
# - Plain attributes of `ctx` hold anything that is not a tensor: `ctx.block = block`.
# - `backward` returns None for an argument that has no gradient.
# - Autograd sees only the tensors that are **passed** to `apply`, not those inside a module. If none of the tensors
#   passed needs a gradient, neither does the output.
# - `torch.autograd.grad(outputs, tensors, output_gradient)` returns the gradients of `tensors`, as a tuple.

# %% [markdown]
# **Dropout** draws a new mask in each run. The second run has to draw the same mask as the first, or the gradient
# belongs to a different network. The next cell gives you two functions for this: `read_random_state` reads the state of
# the random number generators, and `random_state` lets the code in a `with` statement start from such a state.

# %% tags=["given"]
from contextlib import contextmanager

from grader import check_checkpoint_gradients, check_checkpoint_peak


def read_random_state() -> tuple:
    """The state of the random number generators, of the CPU and of the lesson's device."""
    return torch.get_rng_state(), torch.cuda.get_rng_state() if device.type == "cuda" else None


@contextmanager
def random_state(state: tuple):
    """Within the block random numbers follow from `state`; after it they go on as if it had not been."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1])
        yield


def trainable(block) -> list:
    """The parameters of a block that need a gradient."""
    return [parameter for parameter in block.parameters() if parameter.requires_grad]


# %% [markdown]
# **Exercise.** Complete `backward` and the call of `apply`.
#
# *Contract.*
# - Return what `block(inputs)` returns. After `backward()`, the trainable parameters and the input must have the
#   gradients of the plain block.
# - Run the block twice: once in forward, once in backward. It may contain dropout and be called several times. Random
#   numbers drawn outside the block must not change.
# - `inputs` is one tensor. It may need no gradient, or hold integer tokens.
# - The block uses all its parameters; some may be frozen.
#
# *Budget.* The peak may be at most 50 % of that of the plain blocks. Write it by hand: calling
# `torch.utils.checkpoint` raises an error.


# %% exercise="checkpoint_by_hand"
class CheckpointFunction(torch.autograd.Function):
    """Runs a block in forward, and again in backward."""

    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        """Keep the input and the random state, and nothing of what the block computes."""
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        """Return None for the block, then the gradients of the input and of each parameter."""
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
        ### BEGIN SOLUTION
        with torch.enable_grad(), random_state(ctx.state):
            outputs = ctx.block(inputs)
        tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
        gradients = torch.autograd.grad(outputs, tensors, output_gradient)
        return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
        ### END SOLUTION


def checkpoint_by_hand(block, inputs: torch.Tensor) -> torch.Tensor:
    """Run a block without keeping its activations, and again in backward; by hand.

    Args:
        block: Module that takes one tensor and returns one.
        inputs: Its input; may need no gradient, and may be integers.

    Returns:
        What the block returns.
    """
    ### BEGIN SOLUTION
    return CheckpointFunction.apply(block, inputs, *trainable(block))
    ### END SOLUTION


# %%
def report_gradients():
    block = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)).to(device)
    inputs = torch.randn(4, 6, device=device)
    for name, run in {"plain": lambda: block(inputs), "by hand": lambda: checkpoint_by_hand(block, inputs)}.items():
        torch.manual_seed(0)
        block.zero_grad()
        run().square().sum().backward()
        norms = [f"{float(parameter.grad.norm()):.4f}" for parameter in block.parameters()]
        print(f"{name:<8} norms of the gradients: {', '.join(norms)}")


look(report_gradients)

# %% check="check_checkpoint_gradients" points=3
check_checkpoint_gradients(checkpoint_by_hand)

# %% check="check_checkpoint_peak" points=2
check_checkpoint_peak(checkpoint_by_hand)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: list what `backward` has to return, one value for each argument of `apply`, in their order.<br>
# Then: run the block again, with a graph and from the random state of the first run. One call of torch.autograd.grad
# returns all gradients. Which tensors' gradients can you ask for?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why do the parameters have to be passed to apply?</summary>
# Autograd knows only the tensors that are passed to `apply`: without the parameters, an input that needs no gradient
# gives an output that needs none, and no gradient that `backward` returns can reach a parameter.
# </details>

# %% [markdown]
# ## How torch does it
#
# `torch.utils.checkpoint` has two implementations.
#
# | | `use_reentrant=True` | `use_reentrant=False` |
# |---|---|---|
# | made of | a `Function` that calls backward within backward | hooks for saved tensors |
# | input that needs no gradient | parameters get **no gradient** | works |
# | the second run ends | with the segment | when all saved tensors have been recomputed |
#
# Use the second one. Both preserve the random state and the state of autocast. A segment must not change its input
# **in place**, because that input is needed again.

# %% [markdown]
# The second implementation needs no list of parameters. It replaces each tensor that autograd saves by a number. When
# the backward pass asks for the first of these numbers, it runs the segment again. In short:


# %%
from torch.autograd.graph import saved_tensors_hooks


def checkpoint_by_hooks(block, inputs):
    count, again = 0, []

    def pack(tensor):  # in forward: keep a number in place of the tensor
        nonlocal count
        count += 1
        return count - 1

    def unpack(number):  # in backward: run again, and collect what is saved now
        if not again:
            with torch.enable_grad(), saved_tensors_hooks(lambda tensor: again.append(tensor.detach()), str):
                block(inputs.detach().requires_grad_(inputs.requires_grad))  # so that as much is saved as before
        return again[number]

    with saved_tensors_hooks(pack, unpack):
        return block(inputs)


block, rows = make_wide_blocks(1, 64, 256)[0], torch.randn(32, 64)  # [batch, width]
for run in (block, lambda states: checkpoint_by_hooks(block, states)):
    block.zero_grad()
    run(rows).sum().backward()
    print(f"norm of the gradient of the first weight: {float(block[0].weight.grad.norm()):.4f}")


# %% [markdown]
# This short form does not keep the random state, and it never frees what it has collected. Its second run has to save
# as many tensors as the first, so its input needs a gradient where the first one did. But the idea is complete: *pack*
# and *unpack*.
#
# **What it costs.** Each block runs twice. Does that double the work of the forward pass? The next cell counts the
# forward passes of blocks. It also counts floating-point operations (FLOPs) with `torch.utils.flop_counter`: in each
# matrix product, 2 for each pair of a multiplication and an addition.

# %% tags=["given"]
blocks = make_wide_blocks(8, 256, 1024).to(device)
inputs = torch.randn(512, 256, device=device)  # [batch, width]


def make_budget_step(run, blocks, inputs) -> dict:
    """One forward and backward through `run`, as measure_peak_memory takes it."""

    def step():
        blocks.zero_grad()
        outputs = run(inputs)
        outputs.sum().backward()

    return {"step": step, "model": blocks, "inputs": inputs}


# %%
from torch.utils.flop_counter import FlopCounterMode

runs = []
for block in blocks:
    block.register_forward_pre_hook(lambda *_: runs.append(1))


def count_work(name, run):
    runs.clear()
    with FlopCounterMode(display=False) as counter:
        run().sum().backward()
    print(f"{name:<20} {len(runs)} block forwards, {counter.get_total_flops() / 1e9:.2f} GFLOPs")


count_work("plain", lambda: blocks(inputs))
for k in (1, 8):
    count_work(f"checkpoint, k = {k}", lambda k=k: run_segments(blocks, inputs, k))

# %% [markdown]
# The plain step consists of a forward pass and a backward pass of about twice its work: three parts. A second forward
# pass adds one part: 33 %. For `k = 1` torch pays only half of that: no backward pass needs the **output** of a
# segment, so torch leaves out the last layer of the second run, which is half of a block here. Your `Function` runs
# each block to its end.
#
# **A middle way.** A *selective policy* decides for each operator whether its result is saved. Matrix products are
# expensive to run again, whereas GELU is cheap. Before you run the cell: how many GFLOPs are left if all products are
# saved?

# %%
from functools import partial

from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts


def keep_products(context, operator, *arguments, **keywords):
    is_product = operator in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default)
    return CheckpointPolicy.MUST_SAVE if is_product else CheckpointPolicy.PREFER_RECOMPUTE


def run_selective(states):
    contexts = partial(create_selective_checkpoint_contexts, keep_products)
    for block in blocks:
        states = checkpoint(block, states, use_reentrant=False, context_fn=contexts)
    return states


count_work("products saved", lambda: run_selective(inputs))
for name, run in {"plain": blocks, "products saved": run_selective}.items():
    peak = measure_peak_memory(**make_budget_step(run, blocks, inputs))
    print(f"{name:<15} peak {format_bytes(peak.peak_bytes)}")

# %% [markdown]
# No product runs twice. The result of each first Linear, 2 MiB, is kept, and that of GELU is not; this saves half of
# the interior, 16 MiB for 8 blocks. The peak falls by less, because GELU's result is in memory again for the block
# being processed.

# %% [markdown]
# ## Hugging Face: one call, and a trap
#
# Models of transformers checkpoint each layer after one call: `model.gradient_checkpointing_enable()`. The newest
# versions name it `activation_checkpointing_enable()`, and warn about the old name. The next cell defines a function
# that calls whichever exists.
#
# `from_pretrained` returns a model in **eval mode**. Before you run the second cell: how much memory does checkpointing
# save in this mode?


# %% tags=["given"]
def enable_checkpointing(model) -> None:
    """Checkpoint every layer of a model of transformers."""
    model.config.use_cache = False  # transformers warns otherwise
    newest = getattr(model, "activation_checkpointing_enable", None)
    (newest or model.gradient_checkpointing_enable)()


# %%
from grader import make_bert

bert = make_bert(6, hidden=256, heads=4).to(device)
tokens = torch.randint(1000, (4, 128), device=device)  # [rows, time]


def show_saved(when):
    for mode in (bert.train, bert.eval):
        mode()
        saved_bytes = measure_saved_tensors(lambda: bert(tokens).logits).total_bytes
        print(f"{when} the call, {mode.__name__:<5} mode: {format_bytes(saved_bytes):>9} saved for backward")


show_saved("before")
enable_checkpointing(bert)
show_saved("after ")

# %% [markdown]
# In eval mode the call has **no effect**, and no warning says so: the layers check `self.training`. The Trainer calls
# `train()` itself. In a loop of your own, or one with Accelerate, you have to call it.
#
# The newest versions also accept `every_n_layers=2`. This does not make segments of two layers: every second layer is
# checkpointed separately, and the others keep everything.

# %% [markdown]
# ## Three forms of one run
#
# You train the same model four times: without checkpoints, in a raw loop, with Accelerate, and with the Trainer. The
# model has six layers and comes as `from_pretrained` returns it, in eval mode.
#
# | raw | Accelerate | Trainer |
# |---|---|---|
# | `enable_checkpointing(network)` | the same | `TrainingArguments(gradient_checkpointing=True)` |
# | `network.train()` | the same | done inside |
# | `loss.backward()` | `accelerator.backward(loss)` | done inside |
# | `optimizer.step()` | the same, of a prepared optimizer | done inside |

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import (
    check_checkpointing_accelerate,
    check_checkpointing_trainer,
    compare_forms,
    make_bert,
    make_sentence_pairs,
    make_tokenizer,
    plain_trainer_arguments,
    tokenize_pairs,
)

pairs = tokenize_pairs(make_sentence_pairs(pairs=64), make_tokenizer())
same_run = plain_trainer_arguments(device)
has_new_name = hasattr(TrainingArguments, "activation_checkpointing")
trainer_argument = "activation_checkpointing" if has_new_name else "gradient_checkpointing"
print(f"TrainingArguments({trainer_argument}=True)")


# %% tags=["given"]
def make_classifier():
    """Build a classifier of six layers without dropout, in eval mode."""
    model = make_bert(6, hidden=64, heads=2, vocabulary=len(make_tokenizer()), longest_time=32, dropout=0.0)
    return model.eval().to(device)


def train_raw(network, dataset, rows: int, learning_rate: float) -> None:
    """The reference: a raw loop that checkpoints every layer, in train mode."""
    enable_checkpointing(network)
    train_plain(network, dataset, rows, learning_rate)


def train_plain(network, dataset, rows: int, learning_rate: float) -> None:
    """The same loop without checkpoints."""
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        network(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% [markdown]
# Before you run the cell: the model is small next to its activations. By how much does the peak fall, and by how much
# does an update get slower? *From raw* is the distance between the final weights and those of the raw loop, relative
# to how far the raw loop's weights have moved. The peak is that of a whole run of four updates.


# %%
def show_forms(**forms):
    runs = {"plain": train_plain, "raw": train_raw} | forms
    ready = {name: lambda model, run=run: run(model, pairs, 16, 0.1) for name, run in runs.items()}
    print(compare_forms(ready, make_classifier, updates=4))


show_forms()

# %% [markdown]
# **Exercise.** Write the loop with Accelerate, with every layer checkpointed.
#
# *Contract.*
# - The model is in eval mode when you receive it.
# - Use every row once, in order, `rows` at a time. If fewer rows are left at the end, they make an update of their
#   own.
# - Use plain SGD at `learning_rate`. Prepare the model and the optimizer, and call `accelerator.backward`.
# - Each layer runs twice for each forward pass of the model. Return nothing.
#
# The check compares the gradient before every update and counts the runs of each layer. It also measures a run of a
# model with six layers: its peak may be at most 40 % of the plain run's.


# %% exercise="checkpoint_with_accelerate"
def checkpoint_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    """Train one epoch with Accelerate and checkpointed layers, equal to the raw loop.

    Args:
        model: Returns an output with .loss; in eval mode.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of each update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    enable_checkpointing(model)
    model.train()
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %%
look(lambda: show_forms(Accelerate=checkpoint_with_accelerate))

# %% check="check_checkpointing_accelerate" points=2
check_checkpointing_accelerate(checkpoint_with_accelerate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what does the Trainer do before its first batch that your own loop has to do itself?<br>
# Then: write the loop of lesson 00, and add two lines to it.
# </details>

# %% [markdown]
# **Exercise.** Write the same run with the Trainer.
#
# *Contract.* As above, but train through `Trainer.train`; `same_run` and `trainer_argument` are given.


# %% exercise="checkpoint_with_trainer"
def checkpoint_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    """Train one epoch with the Trainer and checkpointed layers, equal to the raw loop.

    Args:
        model: Returns an output with .loss; in eval mode.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of each update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, trainer_argument: True}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    ### END SOLUTION


# %%
look(lambda: show_forms(Accelerate=checkpoint_with_accelerate, Trainer=checkpoint_with_trainer))

# %% check="check_checkpointing_trainer" points=2
check_checkpointing_trainer(checkpoint_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: three arguments are missing in `same_run`.<br>
# Then: their defaults are 8 rows, a learning rate of 5e-5, and no checkpoints.
# </details>

# %% [markdown]
# ## The price
#
# Checkpointing pays for memory with time. Before you run the cell: by what factor is a step slower with `k = 1`?

# %%
from grader import measure_step_time

plain_step = make_budget_step(blocks, blocks, inputs)["step"]
checkpointed_step = make_step(blocks, 512, 1)["step"]
print(measure_step_time(plain_step, checkpointed_step, run_count=2, warm_up_count=1))

# %% [markdown]
# According to the FLOPs above, a step has 17 % more work. It slows down by more than that, because GELU and its buffers
# run twice as well, and they cost time but hardly any FLOPs.
#
# For comparison with your device, here is a published run of BERT-large on a V100, with batch 1 and 4 accumulation
# steps:
#
# | | samples per second | memory occupied |
# |---|---|---|
# | accumulation | 7.75 | 8,681 MiB |
# | accumulation and checkpointing | 5.99 | 6,775 MiB |
#
# Checkpointing saves 22 % of the memory and costs 23 % of the samples per second, which is 29 % more time per sample.
# The guide says that checkpointing "slows down training by about 20%", which fits the samples per second.

# %% [markdown]
# - **Use it when** a step does not fit, or when the freed memory allows a larger batch.
# - **Do not when** the peak is in the optimizer's update, or the interiors are small.
# - **Combine with** accumulation (lesson 02) and mixed precision (lesson 05).

# %% [markdown]
# **Two related techniques.** *Offloading*: `torch.autograd.graph.save_on_cpu` moves saved tensors to the CPU and
# recomputes nothing. And given a memory budget, `torch._functorch.config.activation_memory_budget`, `torch.compile`
# chooses by itself what to recompute.

# %% [markdown]
# **At real scale.** Here is BERT-large again, with two micro-batches of one row as in lesson 02, and every layer
# checkpointed. The 1,343 MiB of the CUDA context are subtracted from the published figure. CUDA's operators are
# emulated: no device has confirmed the forecast yet. The cell takes 3 to 15 seconds.

# %%
from grader import BERT_LARGE_ROWS, bert_large_recipe

recipe = bert_large_recipe("accumulation_checkpointing", accumulate=2)
forecast_mib = forecast_peak_memory(recipe).peak_bytes / MIB
published_mib = BERT_LARGE_ROWS["accumulation_checkpointing"].less_context_mib
print(f"accumulation and checkpointing: forecast {forecast_mib:,.0f} MiB, published {published_mib:,} MiB")
print(f"gap {published_mib - forecast_mib:,.0f} MiB; not forecast: allocator reserve and fragmentation")
print(f"parameters, gradients and two moments alone: {335_143_938 * 4 * 4 / MIB:,.0f} MiB")

# %% [markdown]
# Without checkpointing, lesson 02 forecast 6,798 MiB, with a gap of 540 MiB. Here the gap is small: few activations
# are allocated and freed, so the allocator has little to hold in reserve. Nearly all of what remains is parameters,
# gradients and optimizer state, which checkpointing does not shrink by one byte.

# %% [markdown] tags=["further"]
# ## Further: meet a budget on a model that you have not seen
#
# So far all blocks were alike. Here some are large and some are small, and you have a budget in bytes. Choose which
# blocks to checkpoint, **each by itself**.
#
# The backward pass goes from the last block to the first. When it reaches a block, all that it needs of this block is
# held, kept or recomputed. Of the blocks before it, the inputs and the **kept** interiors are held; of the blocks after
# it, nothing.
#
# | backward pass is at block | held |
# |---|---|
# | 2 | inputs of 0, 1, 2; kept interiors of 0, 1; interior of 2 |
# | 1 | inputs of 0, 1; kept interior of 0; interior of 1 |

# %% [markdown]
# The peak is the largest of these rows. So ask two questions about a block before you checkpoint it: which rows does
# that make smaller, and which ones does it leave unchanged?
#
# `measure_saved_tensors(lambda: block(states)).total_bytes` returns what the backward pass needs of a block: its input
# and its interior. While the backward pass is **inside** a block, it also holds a gradient half as large as the
# interior. Therefore count the interior of that block 1.5 times, and inputs once.
#
# Each row also includes the parameters, their gradients, and the output of the chain. The gradients of early blocks are
# computed late, so counting all gradients gives an upper limit. The budgets leave some room, but not for half a large
# block.

# %% tags=["given"]
from itertools import combinations

from grader import check_budget_gradients, check_budget_peak, measure_saved_tensors

unequal = torch.nn.Sequential(*(make_wide_blocks(1, 64, hidden)[0] for hidden in (32, 384, 48, 64, 320))).to(device)
unequal_inputs = torch.randn(2048, 64, device=device)  # [batch, width]


# %%
everything = measure_peak_memory(**make_budget_step(unequal, unequal, unequal_inputs))
print(f"plain: {format_bytes(everything.peak_bytes)}")
states = unequal_inputs
for index, block in enumerate(unequal):
    needed = measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes
    print(f"block {index}: backward needs {format_bytes(needed)}, its input alone {format_bytes(states.nbytes)}")
    states = block(states).detach()

# %% [markdown]
# **Exercise.** Choose the blocks to checkpoint.
#
# *Contract.*
# - Return a **function** of a tensor such as `inputs`, with any number of rows, that returns what `blocks` would, with
#   the gradients of the plain blocks, with dropout too.
# - The forward and backward passes may hold at most `budget_bytes`, including parameters, gradients and input. The
#   budget can be met.
# - **As few blocks as possible** run twice; none if everything fits.
# - You may run the blocks beforehand; leave them in train mode. The outputs of all blocks have the same size.
#
# The check measures four models.


# %% exercise="fit_into_budget"
def fit_into_budget(blocks, inputs: torch.Tensor, budget_bytes: int):
    """Choose blocks to checkpoint, so that forward and backward meet a budget.

    Args:
        blocks: Sequential of at most ten blocks.
        inputs: Input of the first block; needs no gradient, and may be integers.
        budget_bytes: The most that may be held, parameters and their gradients included.

    Returns:
        Function of an input that returns the output of the blocks.
    """
    ### BEGIN SOLUTION
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def fits(chosen):  # a block that runs again has kept its input
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes

    sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
    chosen = next(filter(fits, sets))

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
    ### END SOLUTION


# %%
def report_budget(budget_bytes):
    run = fit_into_budget(unequal, unequal_inputs, budget_bytes)
    peaks = {"plain": everything, "yours": measure_peak_memory(**make_budget_step(run, unequal, unequal_inputs))}
    draw_bars(peaks, title=f"Five unequal blocks, budget {format_bytes(budget_bytes)}")


look(report_budget, 14 * MIB)

# %% check="check_budget_gradients" points=1
check_budget_gradients(fit_into_budget)

# %% check="check_budget_peak" points=3
check_budget_peak(fit_into_budget)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write a function that returns the peak for a set of chosen blocks: the largest row of the table above.<br>
# Then: ten blocks have at most 1,024 sets. In which order do you try them, if as few blocks as possible are to run
# twice?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is it of no use to checkpoint the last block?</summary>
# The backward pass begins with it, so its second run would follow its first at once, and everything in it is held
# either way.
# </details>

# %% [markdown]
# ## Further: bug hunt
#
# This checkpoint was published in an essay on training; the lines that did not run have been fixed here. It has three
# more faults. A model that is trained through it learns **nothing**.
#
# ```python
# class CheckpointFunction(autograd.Function):
#     @staticmethod
#     def forward(ctx, func, *args):
#         ctx.func = func
#         ctx.save_for_backward(*args)
#         with torch.no_grad():
#             return func(*args)
#
#     @staticmethod
#     def backward(ctx, grad_output):
#         args = [arg.detach().requires_grad_() for arg in ctx.saved_tensors]
#         with torch.enable_grad():
#             result = ctx.func(*args)
#         return None, *torch.autograd.grad(result, args, grad_output)
# ```
#
# Nobody noticed, because the example printed the gradient of the input. What should a test have looked at?

# %% [markdown]
# **Exercise.** Write that test: for any checkpoint, report which faults it has.
#
# *Contract.* `checkpoint(block, inputs)` takes a module and a tensor, on the CPU. Return a set or list of names,
# empty for a correct checkpoint:
#
# - `"parameter_gradients"`: after the backward pass, parameters have no gradient;
# - `"random_state"`: with dropout and the same seed, gradients differ from the plain block's;
# - `"input_without_gradient"`: for such an input, the output needs no gradient, though the parameters do;
# - `"no_recompute"`: the block runs only once.
#
# A checkpoint may have several faults. One must not hide another or be mistaken for it. To count runs, use a hook
# **before** the block: torch ends the second run early, so a hook after it never runs. The check uses nine
# checkpoints.

# %% tags=["given"]
from grader import check_found_faults


# %% exercise="find_faults"
def find_faults(checkpoint) -> set[str]:
    """Test a checkpoint.

    Args:
        checkpoint: Function of a block, a module, and of its input [rows, features], on the CPU.

    Returns:
        Names out of "parameter_gradients", "random_state", "input_without_gradient" and "no_recompute".
    """
    ### BEGIN SOLUTION
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
        runs.clear()
        torch.manual_seed(0)
        run(inputs).sum().backward()
        gradients.append(inputs.grad)
    faults = {"parameter_gradients"} if block[0].weight.grad is None else set()
    faults |= set() if torch.equal(*gradients) else {"random_state"}
    faults |= {"no_recompute"} if len(runs) < 2 else set()
    return faults | (set() if checkpoint(block, torch.ones(16, 8)).requires_grad else {"input_without_gradient"})
    ### END SOLUTION


# %%
print("yours:", look(lambda: find_faults(checkpoint_by_hand)))
print("torch:", look(lambda: find_faults(lambda block, inputs: checkpoint(block, inputs, use_reentrant=False))))
print("torch, reentrant:", look(lambda: find_faults(lambda block, x: checkpoint(block, x, use_reentrant=True))))

# %% check="check_found_faults" points=2
check_found_faults(find_faults)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: one small block with dropout is enough. Run it plainly and through the checkpoint, both times from one
# seed.<br>
# Then: which of the four faults show in the input's gradient, which in .grad of a parameter, and which in a hook?
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>What is in memory when a segment has run again in backward?</summary>
# The inputs of this segment and of those before it, and everything that the backward pass needs of this one segment.
# </details>
# <details><summary>When is k = 1 better than the square root?</summary>
# When the interior of a block is large compared with its boundary, as in transformers.
# </details>
# <details><summary>Checkpointing is enabled, but memory did not change. What are two possible causes?</summary>
# The model is in eval mode, or one checkpoint contains everything.
# </details>
#
# **Takeaway: keep what is small between blocks, and compute again what is large inside them.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 04, number formats.

# %% [markdown]
# **Sources**
# - [Chen, Xu, Zhang, Guestrin: Training deep nets with sublinear memory cost][chen]: segments, and the square root.
# - [PyTorch, torch.utils.checkpoint][checkpoint]: both variants, and what they keep.
# - [PyTorch, extending torch.autograd][extending]: `Function`.
# - [PyTorch, hooks for saved tensors][hooks]: pack and unpack.
# - [Efficient training on a single GPU][guide]: the V100 figures.
# - *DL Training: An in-depth discussion*, an essay: the checkpoint of the bug hunt.
# - *Efficient AI Model Training with PyTorch*, slides: A + B as an example of what is saved.
#
# [chen]: https://arxiv.org/abs/1604.06174
# [checkpoint]: https://docs.pytorch.org/docs/stable/checkpoint.html
# [extending]: https://docs.pytorch.org/docs/stable/notes/extending.html
# [hooks]: https://docs.pytorch.org/docs/stable/autograd.html#saved-tensors-hooks-doc
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
