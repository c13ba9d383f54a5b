# %% [markdown]
# # 12. Attention
#
# You compute exact attention tile by tile, keep one number per query where others keep a matrix, and switch a model to
# fused attention in three forms.
#
# 60 min (estimated) · CPU is enough · after lesson 11

# %% [markdown] objectives="1; 2 3; 6; 4 5"
# **You will be able to**
# - predict what eager and fused attention keep for the backward pass, at any length;
# - merge a softmax from tiles, and write attention forward and backward without a T x T matrix;
# - find out which kernel runs, and what makes PyTorch fall back to another;
# - train with `attn_implementation="sdpa"` under Accelerate and the Trainer, with equal weights and a lower peak.

# %% tags=["given"]
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from grader import MIB, device_name, lesson_device, look, measure_saved_tensors

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 11: two sequences are packed into one row. What must attention not do, and which numbers
# start again?</summary>
# No query may see a key of the other sequence, and positions start again at 0.
# </details>
# <details><summary>Lesson 03: the backward pass needs an activation that was thrown away. Where does it come
# from?</summary>
# It is computed again, from the input that was kept.
# </details>

# %% [markdown]
# **The problem.** A model trains well at 1,024 tokens. At 2,048 its activations should take twice the memory, but they
# take more, and the run fails for lack of memory. What grows faster than the sequence?
#
# Attention, as every textbook writes it, is three lines. Each row of `weights` belongs to one *query* and adds up to 1:
# it says how much that query takes from the *value* at each *key*.


# %% tags=["given"]
def eager_attention(query, key, value, is_causal=False):
    """Attention in three lines; all tensors are [rows, heads, time, head_dim]."""
    scores = query @ key.mT / query.shape[-1] ** 0.5  # [rows, heads, time, time]
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)  # before the softmax: hidden keys weigh 0
    weights = scores.softmax(dim=-1)
    return weights @ value


def draw(*shape, dtype=torch.float32):
    """Query, key and value of one shape, which need gradients."""
    return [torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(3)]


# %% [markdown]
# ## Predict: what is kept for backward
#
# `F.scaled_dot_product_attention`, **SDPA** for short, returns the same output, up to rounding, from one *fused*
# operator. It keeps its three inputs, its output and, for each query of each head, the **logsumexp**: the logarithm of
# the sum of the exponentials of its scores, one float32 number (float64 for float64 inputs). It never holds the matrix
# of weights.
#
# Eager attention keeps what each of its operators needs. A product needs its two factors. A softmax needs its *result*
# and nothing else. Scaling needs nothing, because the scale is a constant. A tensor that two operators need is kept
# once.

# %% [markdown]
# **Exercise.** Compute the bytes that each form keeps.
#
# *Contract.*
# - Return the bytes that autograd keeps from the forward pass until the backward pass, inputs included, without mask
#   and dropout.
# - Query, key and value have the shape [rows, heads, time, head_dim]; each of their numbers takes `number_bytes`
#   (2 or 4).
# - `is_fused` selects the form: SDPA as described above, or else the three lines.
#
# The check asks for four shapes, in both forms. It compares with this definition rather than with a meter, because
# another device may run another kernel.

# %% tags=["given"]
from grader import check_attention_bytes


# %% exercise="attention_saved_bytes"
def attention_saved_bytes(is_fused: bool, rows: int, heads: int, time: int, head_dim: int, number_bytes: int) -> int:
    """Bytes that attention keeps for backward.

    Args:
        is_fused: Whether it is SDPA, or else the three lines.
        rows: Sequences of the batch.
        heads: Heads of each sequence.
        time: Positions of a sequence.
        head_dim: Features of a head.
        number_bytes: Bytes of a number of query, key, value and output.

    Returns:
        Bytes, each tensor once.
    """
    ### BEGIN SOLUTION
    queries = rows * heads * time
    tensor_bytes = queries * head_dim * number_bytes
    if is_fused:
        return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
    return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
    ### END SOLUTION


# %%
def show_saved():
    print("time   form      predicted     measured")
    for time in (512, 1024, 2048):
        inputs = draw(1, 4, time, 64)
        for name, attend in (("eager", eager_attention), ("fused", F.scaled_dot_product_attention)):
            predicted = attention_saved_bytes(name == "fused", 1, 4, time, 64, 4) / MIB
            measured = measure_saved_tensors(lambda attend=attend, inputs=inputs: attend(*inputs)).total_bytes / MIB
            print(f"{time:>4}   {name}   {predicted:>8.2f} MiB {measured:>8.2f} MiB")


look(show_saved)

# %% check="check_attention_bytes" points=2
check_attention_bytes(attention_saved_bytes)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many numbers do the weights have, for one head and one row?<br>
# Then: write down the factors of the two products in the eager form, and strike out what is listed twice.
# </details>

# %%
from grader import draw_curves


def measure_saved(attend, time):
    inputs = draw(1, 4, time, 64)
    return measure_saved_tensors(lambda: attend(*inputs)).total_bytes / MIB


times = range(256, 2049, 256)
forms = {"eager": eager_attention, "fused": F.scaled_dot_product_attention}
curves = {name: [measure_saved(attend, time) for time in times] for name, attend in forms.items()}
draw_curves(times, curves, title="Saved for backward", x_label="positions", y_label="MiB")

# %% [markdown]
# **Investigate.** From 512 to 1,024 positions, the bytes that eager attention keeps grow by a factor of 3.5; from 1,024
# to 2,048, by 3.7; and the factor tends to 4. For SDPA it is 2 each time. At 1,024 positions that makes 19.0 MiB
# against 4.02 MiB, *per layer*. (With fewer positions than features, the three lines keep less: compare your two
# formulas.)
#
# The saving is not guaranteed. Which kernel runs depends on the device, the number format, the mask and dropout. Before
# you run the cell: which of these calls keeps a matrix?


# %%
inputs = draw(1, 4, 1024, 64)
everything = torch.ones(1024, 1024, dtype=torch.bool, device=device)
calls = {"plain": {}, "causal": {"is_causal": True}, "with a mask": {"attn_mask": everything}}
calls |= {"with dropout": {"dropout_p": 0.1}}
for name, options in calls.items():

    def attend(options=options):
        return F.scaled_dot_product_attention(*inputs, **options)

    kernel = type(attend().grad_fn).__name__.removeprefix("ScaledDotProduct").removesuffix("Backward0")
    print(f"{name:<13} {measure_saved_tensors(attend).total_bytes / MIB:>6.2f} MiB   {kernel}")

# %% [markdown]
# The name of `grad_fn` says which kernel ran; `UnsafeView` is the last of several plain operators. On a CPU:
#
# - `is_causal=True` costs nothing. Prefer it to a mask tensor, which is read, kept and, if boolean, converted to
#   floats.
# - With **dropout** the CPU has no fused kernel, and PyTorch silently falls back to the *math* kernel. It keeps 51 MiB:
#   three matrices and the inputs. (CUDA's fused kernels draw the dropout mask again in the backward pass.)
#
# So a memory test on a CPU needs attention dropout 0; otherwise it measures the wrong kernel.

# %% [markdown]
# CUDA has more kernels, in an order of preference. A **T4** is too old for PyTorch's flash kernel, which requires
# compute capability 8.0 or newer; on a T4 the *memory-efficient* kernel runs, which is also tiled and accepts float32
# and masks. To be sure, allow one kernel only: under `sdpa_kernel`, PyTorch raises an error if that kernel cannot run
# and, on CUDA, warns about the reasons.


# %%
for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH):
    with sdpa_kernel(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            saved = measure_saved_tensors(lambda: F.scaled_dot_product_attention(*inputs))
            print(f"{backend.name:<20} {saved.total_bytes / MIB:>6.2f} MiB")
        except RuntimeError as error:
            print(f"{backend.name:<20} {str(error).split('.')[0]}")

# %% [markdown]
# ## Complete: a softmax that arrives in tiles
#
# How can anyone compute a softmax without seeing all scores? With three running quantities for each query:
#
# | name | shape | holds |
# |---|---|---|
# | `highest` | [..., queries] | the highest score so far |
# | `total` | [..., queries] | the sum of `exp(score - highest)` over all keys so far |
# | `mixed` | [..., queries, head_dim] | the sum of `exp(score - highest) * value` so far |
#
# After the last tile, the output is `mixed / total`. Subtracting the highest score does not change the quotient, and it
# keeps the exponential from overflowing.

# %% [markdown]
# The two sums were computed with the highest score *so far*. When a tile brings a higher one, `exp(score - highest)` is
# out of date for every earlier key, by the same factor.
#
# **Exercise.** Complete one step of this **online softmax**.
#
# *Contract.*
# - `scores` has the shape [..., queries, keys of the tile], and `value` [..., keys of the tile, head_dim].
# - At the start, `highest` is minus infinity, and `total` and `mixed` are 0. Every query sees a key of the first tile.
#   It may see none of a later tile, in which case all its scores there are minus infinity.
# - Return the three tensors after the tile.
#
# The check merges three sets of tiles in float64 and compares to 1e-10.

# %% tags=["given"]
from grader import check_merged_tiles


# %% exercise="merge_tile"
def merge_tile(highest, total, mixed, scores, value):
    """Merge one more tile of keys into a running softmax.

    Args:
        highest: Highest score so far, [..., queries].
        total: Sum of the exponentials so far, [..., queries].
        mixed: Sum of the exponentials times values so far, [..., queries, head_dim].
        scores: Scaled scores of the tile, [..., queries, keys].
        value: Values of the tile, [..., keys, head_dim].

    Returns:
        highest, total and mixed after the tile.
    """
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    ### BEGIN SOLUTION
    shrink = torch.exp(highest - new_highest)
    weights = torch.exp(scores - new_highest.unsqueeze(-1))
    total = shrink * total + weights.sum(dim=-1)
    mixed = shrink.unsqueeze(-1) * mixed + weights @ value
    ### END SOLUTION
    return new_highest, total, mixed


# %%
def show_merged():
    scores, value = torch.randn(1, 6), torch.randn(6, 2)
    state = torch.full((1,), -torch.inf), torch.zeros(1), torch.zeros(1, 2)
    for columns in (slice(0, 2), slice(2, 4), slice(4, 6)):
        state = merge_tile(*state, scores[:, columns], value[columns])
        print(f"keys 0 to {columns.stop - 1}: output {(state[2] / state[1].unsqueeze(-1)).squeeze().tolist()}")
    print(f"softmax at once: {(scores.softmax(dim=-1) @ value).squeeze().tolist()}")


look(show_merged)

# %% check="check_merged_tiles" points=2
check_merged_tiles(merge_tile)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take one query and two tiles of one key each, and write down `total` after both.<br>
# Then: by which factor does `exp(score - highest)` change when `highest` becomes `new_highest`?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: in what sense is this exact?</summary>
# It is the same sum in another order: no score is left out or approximated, so results differ only by rounding, as they
# do between any two orders of summation.
# </details>

# %% [markdown]
# ## Write: attention that keeps one number per query
#
# The forward pass now needs no matrix, but the backward pass does: it computes the gradients of scores and values from
# the weights. The remedy is the idea of checkpointing (lesson 03), applied to one tile at a time: **compute the weights
# again**. The logsumexp, which is `highest + log(total)`, makes that easy:
#
# `weights = exp(scores - logsumexp)`
#
# Each tile of weights is computed, used and freed. No second running softmax is needed.

# %% [markdown]
# With the weights `P` of a tile and the gradient `dO` of the output, the backward pass is (all sums run over tiles):
#
# | gradient of | is |
# |---|---|
# | value | the sum of `P.mT @ dO` |
# | weights | `dP = dO @ value.mT` |
# | scores | `dS = P * (dP - D)`, where `D` is the sum of `P * dP` over **all** keys of a query |
# | query, key | the sums of `dS @ key` and of `dS.mT @ query`, each times the scale |
#
# `D` is a sum over a whole row of weights, but you hold only one tile of it. Fortunately, `D` equals the sum of
# `output * dO` over the features, which you can compute before the first tile.

# %% [markdown]
# Two helpers are given. `tile_pairs` yields the tiles: two indices, with which `query[queries]` and `key[keys]` are the
# tile's queries and keys, and `hidden`, which is True for the pairs that a causal mask hides. `merge_into` is the
# online softmax with one running number instead of two: it keeps the output normalised.


# %% tags=["given"]
def tile_pairs(query, tile, is_causal):
    """Yield for each tile an index of its queries, one of its keys, and which pairs are hidden [queries, keys]."""
    tiles = torch.arange(query.shape[-2], device=query.device).split(tile)  # the last one may be shorter
    for queries in tiles:
        for keys in tiles:
            if not is_causal or keys[0] <= queries[0]:  # the others are hidden as a whole
                later = queries[:, None] < keys
                hidden = later if is_causal else torch.zeros_like(later)
                yield *((..., slice(part[0], part[-1] + 1), slice(None)) for part in (queries, keys)), hidden


def merge_into(output, logsumexp, scores, value):
    """Merge a tile into its parts of output [..., queries, head_dim] and logsumexp [..., queries, 1], in place."""
    merged = torch.logaddexp(logsumexp, scores.logsumexp(dim=-1, keepdim=True))
    output.mul_((logsumexp - merged).exp()).add_((scores - merged).exp() @ value)
    logsumexp.copy_(merged)


# %% tags=["given"]
class AttentionFunction(torch.autograd.Function):
    """Runs two functions: what the first returns as `kept` is saved, and handed to the second."""

    @staticmethod
    def forward(ctx, run_forward, run_backward, query, key, value, is_causal, tile):
        """Save what run_forward wants to keep, and return its output."""
        output, kept = run_forward(query, key, value, is_causal, tile)
        ctx.save_for_backward(*kept)
        ctx.run_backward, ctx.tiling = run_backward, (is_causal, tile)
        return output

    @staticmethod
    def backward(ctx, output_gradient):
        """Return the gradients of query, key and value, and None for what is no tensor."""
        gradients = ctx.run_backward(output_gradient, *ctx.tiling, *ctx.saved_tensors)
        return None, None, *gradients, None, None


# %% [markdown]
# **Exercise.** Write the forward and the backward pass.
#
# *Contract.*
# - Output and all three gradients equal those of `eager_attention`, to 1e-10 in float64. `time` need not be a multiple
#   of `tile`.
# - What `forward_tiles` returns second is kept for the backward pass: no more than query, key, value, output and
#   logsumexp.
# - Hold the scores of one tile at a time, `tile` queries by `tile` keys of each head, and a few tensors of that size.
# - Write it by hand: SDPA raises an error.
#
# *Budget.* With 8 heads and about 550 positions in tiles of 64, the peak is at most 7 % of the eager one.

# %% tags=["given"]
from grader import check_tiled_gradients, check_tiled_memory


# %% exercise="tiled_attention"
def forward_tiles(query, key, value, is_causal, tile):
    output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
    ### BEGIN SOLUTION
    for queries, keys, hidden in tile_pairs(query, tile, is_causal):
        scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
        merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
    ### END SOLUTION
    return output, (query, key, value, output, logsumexp)


def backward_tiles(output_gradient, is_causal, tile, query, key, value, output, logsumexp):
    gradients = [torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)]
    ### BEGIN SOLUTION
    row_sums = (output * output_gradient).sum(dim=-1, keepdim=True)
    for queries, keys, hidden in tile_pairs(query, tile, is_causal):
        scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
        weights = (scores.masked_fill(hidden, -torch.inf) - logsumexp[queries]).exp()
        of_weights = output_gradient[queries] @ value[keys].mT
        of_scores = weights * (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5
        gradients[0][queries] += of_scores @ key[keys]
        gradients[1][keys] += of_scores.mT @ query[queries]
        gradients[2][keys] += weights.mT @ output_gradient[queries]
    ### END SOLUTION
    return gradients


def tiled_attention(query, key, value, is_causal: bool, tile: int) -> torch.Tensor:
    """Exact attention tile by tile, by hand.

    Args:
        query: [rows, heads, time, head_dim].
        key: The same shape.
        value: The same shape.
        is_causal: Whether a query sees only its own position and those before it.
        tile: Queries, and keys, of a tile; the last tile may be shorter.

    Returns:
        The output, in the shape of the query.
    """
    return AttentionFunction.apply(forward_tiles, backward_tiles, query, key, value, is_causal, tile)


# %%
def show_tiled():
    inputs = draw(2, 2, 50, 8, dtype=torch.float64)
    for is_causal in (False, True):
        expected = eager_attention(*inputs, is_causal)
        output = tiled_attention(*inputs, is_causal, 16)
        differences = [(output - expected).abs().max().item()]
        for own, right in zip(*(torch.autograd.grad(each.sum(), inputs) for each in (output, expected)), strict=True):
            differences.append((own - right).abs().max().item())
        print(f"causal {is_causal!s:<5} largest differences:", ", ".join(f"{each:.0e}" for each in differences))
    long = draw(1, 2, 1000, 16)
    for name, attend in {"eager": eager_attention, "tiled": lambda *each: tiled_attention(*each, False, 64)}.items():
        print(f"{name}: {measure_saved_tensors(lambda attend=attend: attend(*long)).total_bytes / MIB:.2f} MiB saved")


look(show_tiled)

# %% check="check_tiled_gradients" points=3
check_tiled_gradients(tiled_attention)

# %% check="check_tiled_memory" points=2
check_tiled_memory(tiled_attention)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what has to happen to the product of queries and keys before it may be merged? Two things.<br>
# Then: in the backward pass, do the same two things to the scores before you compute the weights again. Which tiles
# contribute to the gradient of one key?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is one logsumexp per query enough?</summary>
# The backward pass needs the weights, which a tile's queries and keys determine up to one number per row, the
# normaliser: keep that number, and every tile of weights can be computed from the inputs alone.
# </details>

# %% [markdown]
# **Why is it faster?** Not because it computes less. The backward pass computes the scores a second time, so there are
# seven matrix products instead of six. What falls is the number of **bytes moved**: eager attention writes and reads
# the matrix several times. The cell counts the bytes of one forward pass.


# %%
heads, time, head_dim, number_bytes = 16, 4096, 64, 2
tensor_bytes = heads * time * head_dim * number_bytes
matrix_bytes = heads * time * time * number_bytes
flops = 2 * 2 * heads * time * time * head_dim  # two products
moved = {
    "eager": 4 * tensor_bytes + 6 * matrix_bytes,  # scores, scaled scores and weights, each written and read
    "tiled, 128 queries": (2 + 2 * time // 128) * tensor_bytes,  # keys and values once for each tile of queries
}
for name, bytes_moved in moved.items():
    print(f"{name:<19} {flops / 1e9:.1f} GFLOPs, {bytes_moved / 1e9:.2f} GB moved, {flops / bytes_moved:.0f} per byte")

# %% [markdown]
# On an A100, a bf16 kernel needs about 150 to 200 FLOPs per byte to be limited by arithmetic (roofline, lesson 10).
# Eager attention is far below that. The second line comes close, although it is a worst case: many of its reads hit the
# cache.
#
# Published figures for an A100 (GPT-2 medium, 1,024 positions, forward and backward, FlashAttention paper, 2022):
#
# | | standard | FlashAttention |
# |---|---|---|
# | GFLOPs | 66.6 | 75.2 |
# | memory read and written, GB | 40.3 | 4.4 |
# | time, ms | 41.7 | 7.3 |
#
# Your loop in Python shows the saving in memory, but not in time, because each tile takes a few operators, each with a
# launch of its own. A fused kernel runs the whole forward loop in one launch, in on-chip memory.

# %% [markdown]
# ## What the operator lets you say
#
# - **Scale**: one over the square root of `head_dim`, unless you pass `scale=`. The backward pass must use the same
#   scale.
# - **Mask**: in SDPA, `True` means *seen*; in `nn.MultiheadAttention`, `True` means *hidden*.
# - **`is_causal`** with fewer queries than keys aligns at the top left: the first query sees only the first key. A
#   decoder that continues a text needs the bottom right.
# - **Variable lengths**: SDPA accepts a padding mask [rows, 1, 1, time], but transformers expands it to
#   [rows, 1, time, time], which is kept; and padding is computed on. Pack instead (lesson 11). On CUDA,
#   `torch.nn.attention.varlen.varlen_attn` takes packed rows and the positions where sequences start.

# %% [markdown]
# **Grouped-query attention** (GQA) lets several query heads share one key and value head. It changes the model, not the
# arithmetic of a kernel. `enable_gqa=True` lets SDPA share the heads without a copy. The cell compares this with keys
# and values that are copied for each query head.


# %%
query = torch.randn(1, 32, 1024, 64, device=device, requires_grad=True)
key, value = (torch.randn(1, 8, 1024, 64, device=device, requires_grad=True) for _ in range(2))  # 8 for 32 heads


def copied():
    return F.scaled_dot_product_attention(query, key.repeat_interleave(4, 1), value.repeat_interleave(4, 1))


def shared():
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


print(f"largest difference {(copied() - shared()).abs().max():.0e}")
for attend in (copied, shared):
    print(f"{attend.__name__}: {measure_saved_tensors(attend).total_bytes / MIB:.2f} MiB saved for backward")

# %% [markdown]
# In training, this saving is a side effect. GQA is made for **generation**, where the keys and values of all earlier
# positions are kept in a cache. An exercise in Further asks for its size.
#
# **FlexAttention** takes a Python function instead of a mask, for instance a *sliding window*, in which each query sees
# the last `window` positions. Blocks of 128 x 128 in which nothing is seen are skipped. On a CPU, the uncompiled
# function runs but holds all scores, and warns about it. Compiled (lesson 13), it becomes a fused kernel.


# %%
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def sees(row, head, query_place, key_place):
    return (query_place >= key_place) & (query_place - key_place < 256)


blocks = create_block_mask(sees, None, None, 1024, 1024, device=device.type)
query, key, value = (torch.randn(1, 2, 1024, 16, device=device) for _ in range(3))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    windowed = flex_attention(query, key, value, block_mask=blocks)
places = torch.arange(1024, device=device)
window = sees(None, None, places[:, None], places)
masked = F.scaled_dot_product_attention(query, key, value, attn_mask=window)
print(f"{blocks.sparsity():.0f} % of the blocks are skipped; largest difference {(windowed - masked).abs().max():.0e}")
print(f"warning: {str(said[0].message).split(' instead')[0] if said else 'none'}")

# %% [markdown]
# ## Forms: one argument, three times
#
# In transformers, attention is a setting of the model: `attn_implementation="eager"`, `"sdpa"`, `"flash_attention_2"`,
# `"flex_attention"`. Pass it to `from_pretrained` or `from_config`, or change it later.
#
# | raw PyTorch | Accelerate | Trainer |
# |---|---|---|
# | `network.set_attn_implementation("sdpa")` | the same | the same: no argument of `TrainingArguments` |
#
# Where a model supports it, SDPA is the default. Eager attention comes back when somebody asks for it, often to look at
# the weights.

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import make_bert, plain_trainer_arguments

same_run = plain_trainer_arguments(device)
tokens = torch.randint(50, (8, 256), generator=torch.Generator().manual_seed(0))
long_rows = [{"input_ids": row, "labels": torch.tensor(index % 2)} for index, row in enumerate(tokens)]


def make_classifier():
    """Build a classifier of four layers with eager attention, without dropout, for rows of 256 tokens."""
    return make_bert(4, hidden=32, heads=4, vocabulary=50, longest_time=256, dropout=0.0).train().to(device)


# %% tags=["given"]
def train_plain(network, dataset, rows: int, learning_rate: float) -> None:
    """A raw loop with the attention that the model has: eager."""
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        network(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def train_raw(network, dataset, rows: int, learning_rate: float) -> None:
    """The reference: the same loop with fused attention."""
    network.set_attn_implementation("sdpa")
    train_plain(network, dataset, rows, learning_rate)


# %% [markdown]
# Before you run the cell: the model has four layers with 4 heads of 8 features each, and an update has 4 rows of 256
# tokens. How many MiB do the four matrices of weights take, and what share of the plain peak is that?


# %%
from grader import compare_forms


def show_forms(**forms):
    runs = {"plain": train_plain, "raw": train_raw} | forms
    ready = {name: lambda model, run=run: run(model, long_rows, 4, 0.1) for name, run in runs.items()}
    print(compare_forms(ready, make_classifier, updates=2))


show_forms()

# %% [markdown]
# The matrices take 4 x 4 x 4 x 256 x 256 numbers of 4 bytes, or 16 MiB: on a CPU, half of the plain peak.

# %% [markdown]
# **Exercise.** Train with fused attention, once with Accelerate and once with the Trainer.
#
# *Contract.*
# - The model arrives with eager attention and without dropout.
# - Train on every row once, in order, `rows` in each forward and update; the last may have fewer. Use plain SGD
#   at `learning_rate`.
# - With Accelerate, prepare model and optimizer, and call `accelerator.backward`. With the Trainer, call
#   `Trainer.train`; `same_run` holds the other arguments. Return nothing.
#
# The checks count calls of SDPA, compare the gradient before every update, and measure a run on long rows: its peak is
# at most 60 % of the eager one.

# %% tags=["given"]
from grader import check_attention_accelerate, check_attention_trainer


# %% exercise="attention_with_accelerate"
def attention_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    """Train one epoch with Accelerate and fused attention, equal to train_raw.

    Args:
        model: Returns an output with .loss; its attention is eager.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of each update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    model.set_attn_implementation("sdpa")
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="attention_with_trainer"
def attention_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    """Train one epoch with the Trainer and fused attention, equal to train_raw.

    Args:
        model: Returns an output with .loss; its attention is eager.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of each update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    model.set_attn_implementation("sdpa")
    arguments = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**arguments), train_dataset=dataset).train()
    ### END SOLUTION


# %%
look(lambda: show_forms(Accelerate=attention_with_accelerate, Trainer=attention_with_trainer))

# %% check="check_attention_accelerate" points=2
check_attention_accelerate(attention_with_accelerate)

# %% check="check_attention_trainer" points=2
check_attention_trainer(attention_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: does the attention belong to the loop or to the model?<br>
# Then: the loop is that of lesson 00. Two arguments are missing from `same_run`; neither is about attention.
# </details>

# %% [markdown]
# ## The price
#
# There is hardly any: the result is exact, and memory and time both fall. Before you run the cell: how much faster is
# the fused kernel on this device, forward and backward together?


# %%
from grader import format_bytes, measure_peak_memory, measure_step_time


def make_step(attend):
    inputs = draw(1, 4, 1024, 64)

    def step():
        for tensor in inputs:
            tensor.grad = None
        attend(*inputs).sum().backward()

    return {"step": step, "inputs": inputs}


eager, fused = make_step(eager_attention), make_step(F.scaled_dot_product_attention)
for name, prepared in {"eager": eager, "fused": fused}.items():
    print(f"{name:<6} peak {format_bytes(measure_peak_memory(**prepared).peak_bytes)}")
print(measure_step_time(eager["step"], fused["step"], run_count=3, warm_up_count=1))

# %% [markdown]
# - **Use it when** a model has attention, because it is exact. Check once which kernel runs, by `grad_fn` or
#   `sdpa_kernel`.
# - **Do not** when you need the weights themselves. When a mask, a number format or dropout makes PyTorch fall back,
#   first change whatever causes the fallback.
# - **Combine with** packing (lesson 11), bf16, and checkpointing: with the matrix gone, checkpointing saves less per
#   layer than it did.

# %% [markdown] tags=["further"]
# ## Further: bug hunt in two accounts
#
# An essay on efficient training makes these claims about flash attention: it "works by using a small window size
# (e.g., 512) to capture local context", next to a second, full-length attention; it came from Google and Stanford; and
# the usual attention is "prone to vanishing gradients". Which of them are true?
#
# A claim about a function can be *tested*. So here is the hunt: functions that claim to be exact attention, some of
# which look through a window, or worse.

# %% [markdown]
# **Exercise.** Write tests that find what is wrong with `attend(query, key, value, is_causal)`.
#
# *Contract.* Return a set or a list of the function's faults; tensors are [rows, heads, time, head_dim]:
# - `"window"`: keys farther away than some distance, from 4 to 32 positions, on either side, have no influence;
# - `"scale"`: scores are not divided by the square root of `head_dim`;
# - `"mask_after_softmax"`: with `is_causal` it hides weights instead of scores, so that they do not add up to 1;
# - `"matrix_kept"`: what is saved for backward grows with the square of the time.
#
# Except for the mask, `is_causal` makes no difference. A function may have several faults, or none.
# `measure_saved_tensors` is allowed.

# %% tags=["given"]
from grader import check_attention_faults


# %% exercise="find_attention_faults"
def find_attention_faults(attend) -> set[str]:
    """Test a function that claims to be exact attention.

    Args:
        attend: Takes query, key, value and is_causal.

    Returns:
        Its faults, out of window, scale, mask_after_softmax and matrix_kept; an empty set for a sound function.
    """
    ### BEGIN SOLUTION
    faults = set()
    query, key, value = (torch.randn(1, 1, 128, 16, requires_grad=True) for _ in range(3))
    gradient = torch.autograd.grad(attend(query, key, value, False)[..., -1, :].sum(), value)[0]
    if not gradient[..., 0, :].any():  # does the last query see the first key?
        faults.add("window")
    few = [tensor[..., :3, :] for tensor in (query, key, value)]  # nearer than any window
    if not torch.allclose(attend(*few, False), eager_attention(*few), atol=1e-4):
        faults.add("scale")
    if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
        faults.add("mask_after_softmax")
    saved = [measure_saved_tensors(lambda time=time: attend(*draw(1, 1, time, 16), False)) for time in (256, 512)]
    if saved[1].total_bytes > 3 * saved[0].total_bytes:
        faults.add("matrix_kept")
    return faults
    ### END SOLUTION


# %%
def show_faults():
    print("eager attention:", find_attention_faults(eager_attention) or "no fault")
    sdpa = F.scaled_dot_product_attention
    fused = find_attention_faults(lambda *inputs: sdpa(*inputs[:3], is_causal=inputs[3]))
    print("SDPA:           ", fused or "no fault")


look(show_faults)

# %% check="check_attention_faults" points=2
check_attention_faults(find_attention_faults)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for each fault, which input makes all *other* faults invisible?<br>
# Then: a few positions hide the window; if all values are 1, the output shows only the sum of the weights; two lengths
# replace an absolute size.
# </details>

# %% [markdown]
# <details><summary>What is wrong with the essay?</summary>
# There is no window and no second mechanism: flash attention is exact and tiled, with an online softmax and
# recomputation. Dao, Fu, Ermon, Rudra and Ré, from Stanford and the University at Buffalo, published it in 2022. It
# reduces memory traffic; it does not cure vanishing gradients. A sliding window belongs to a model: FlashAttention can
# apply one, and needs none.
# </details>
# <details><summary>A guide of 2023 says: install optimum and call `model.to_bettertransformer()`. What replaced
# it?</summary>
# The method was removed from transformers in October 2025. SDPA is built in: `attn_implementation="sdpa"`, the default
# where a model supports it.
# </details>

# %% [markdown]
# ## Further: the cache that grouped queries save
#
# During generation, each layer keeps the key and the value of every earlier position, for each *key* head. Two ideas
# shrink this cache: fewer key heads (GQA), and layers that see only a window.
#
# **Exercise.** Compute the cache of one sequence, in bytes.
#
# *Contract.*
# - In each group of `global_every` consecutive layers, the last sees all positions; the others see only the last
#   `window` positions, and keep no more. `layers` is a multiple of `global_every`.
# - `key_heads` heads have a key and a value of `head_dim` numbers each; `heads` is the number of query heads.

# %% tags=["given"]
from grader import check_cache_bytes


# %% exercise="cache_bytes"
def cache_bytes(
    layers: int, heads: int, key_heads: int, head_dim: int, time: int, window: int, global_every: int, number_bytes: int
) -> int:
    """Bytes of the key-value cache of one sequence.

    Args:
        layers: Layers of the model.
        heads: Query heads of a layer.
        key_heads: Key and value heads of a layer.
        head_dim: Features of a head.
        time: Positions so far.
        window: Positions that a local layer sees.
        global_every: Of so many layers, one sees all positions; 1 if all do.
        number_bytes: Bytes of a number.

    Returns:
        Bytes.
    """
    ### BEGIN SOLUTION
    global_layers = layers // global_every
    positions = global_layers * time + (layers - global_layers) * min(window, time)
    return positions * 2 * key_heads * head_dim * number_bytes
    ### END SOLUTION


# %%
def show_caches():
    print("32 layers of 32 heads with 128 features, 8,192 positions, 16 bits; a window of 1,024")
    for name, key_heads, global_every in (("32 key heads", 32, 1), ("8 key heads", 8, 1), ("8, one in 4 global", 8, 4)):
        size = cache_bytes(32, 32, key_heads, 128, 8192, 1024, global_every, 2)
        print(f"{name:<19} {size / MIB:>7,.0f} MiB")


look(show_caches)

# %% check="check_cache_bytes" points=1
check_cache_bytes(cache_bytes)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many bytes does one position take in one layer?<br>
# Then: how many positions does each kind of layer keep when the sequence is shorter than the window?
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Which tensor makes eager attention quadratic, and what does SDPA keep in its place?</summary>
# The weights, time by time for each head. SDPA keeps the output and one logsumexp per query.
# </details>
# <details><summary>Why does a running softmax rescale its sums?</summary>
# They used an earlier highest score. When it rises, all earlier exponentials shrink by one common factor.
# </details>
# <details><summary>SDPA saves no memory in your test on a CPU. What do you look at first?</summary>
# The kernel, by `grad_fn` or `sdpa_kernel`. Dropout makes the CPU fall back to the math kernel.
# </details>
#
# **Takeaway: do not store a matrix that its inputs and one number per row can rebuild.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 13.

# %% [markdown]
# **Sources**
# - [FlashAttention][flash], 2022: tiling, recomputation, and the table for an A100.
# - [Online normalizer calculation for softmax][online], 2018: the running sums.
# - [PyTorch, scaled_dot_product_attention][sdpa]: kernels, masks, `enable_gqa`. [FlexAttention][flex].
# - [flash-attention, pull request 2379][t4]: on Turing, PyTorch uses the memory-efficient kernel.
# - [GQA][gqa]: grouped-query attention.
# - [transformers, pull request 41367][better]: `to_bettertransformer` removed.
# - *DL Training: An in-depth discussion*, an essay, and the guide *Efficient Training on a Single GPU*, v4.30: the two
#   accounts of the bug hunt.
#
# [flash]: https://arxiv.org/abs/2205.14135
# [online]: https://arxiv.org/abs/1805.02867
# [sdpa]: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
# [flex]: https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html
# [t4]: https://github.com/Dao-AILab/flash-attention/pull/2379
# [better]: https://github.com/huggingface/transformers/pull/41367
# [gqa]: https://arxiv.org/abs/2305.13245
