# %% [markdown]
# # 8. 8-bit Adam
#
# You keep each of AdamW's two moments in one byte per number, account for every byte, and train with them in three
# forms.
#
# 60 min (estimated) · CPU is enough · after lesson 07

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict the size of an 8-bit state, to the byte;
# - complete a quantizer that gives each block of numbers its own scale;
# - write the step of 8-bit AdamW, for parameter groups with large and small tensors;
# - keep the state of embeddings in 32 bits, with Accelerate and with the Trainer.

# %% tags=["given"]
import logging

import torch

from grader import MIB, check_eight_bit_state, device_name, format_bytes, lesson_device, look

logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it misses a 4-bit kernel, which no cell here needs
device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>What does Adafactor keep of the second moment of a matrix?</summary>
# One mean for each row and one for each column.
# </details>
# <details><summary>Mixed precision: what is a loss scale for?</summary>
# Small fp16 gradients would become zero. Multiplying the loss keeps them in range, and they are divided again before
# the step.
# </details>

# %% [markdown]
# **The problem.** AdamW keeps 501.89 MiB for DistilBERT: two moments, at four bytes a number. Adafactor keeps almost
# nothing, but gives up the first moment.
#
# Is there a middle way that keeps both moments, in one byte each? A byte has 256 values. Where gradients differ by a
# factor of 1,000, their squares differ by a million. So which 256 values should the byte represent, and what else has
# to be kept?

# %% [markdown]
# ## What is kept
#
# 8-bit Adam (library *bitsandbytes*) keeps both moments of AdamW. It stores a **code** for each number and a **scale**
# for each **block** of numbers. A code is a position in a **code book** of float32 values, and a number is its code's
# value times the scale of its block. The next cell takes one step with five tensors, and prints the state of each. If
# Python does not find the library, run `pip install 'lean-training[train]'`.

# %% tags=["given"]
import bitsandbytes

# %%
tensors = [torch.nn.Parameter(torch.zeros(numbers)) for numbers in (100, 4095, 4096, 5000, 80_000)]
for tensor in tensors:
    tensor.grad = torch.ones_like(tensor)
example = bitsandbytes.optim.AdamW8bit(tensors)
example.step()
books = {}
for tensor in tensors:
    print(f"{tensor.numel():,} numbers")
    for name, entry in example.state[tensor].items():
        if isinstance(entry, torch.Tensor):
            place = books.setdefault(entry.data_ptr(), f"tensor {len(books) + 1}")
            print(f"    {name:<8} {entry.dtype!s:<14} {entry.numel():>6,} numbers, {place}")
        else:
            print(f"    {name:<8} {entry!r}, a Python {type(entry).__name__}")

# %% [markdown]
# ## Predict: the bytes of the state
#
# Derive from the listing which tensors have codes, how many numbers share a scale, what is shared by several tensors,
# and what a short last block costs.
#
# **Exercise.** Predict the bytes of any such state.
#
# *Contract.*
# - `parameters` are the tensors that the optimizer receives. They may be frozen, in 16 bits, or of any shape.
# - The state of a small tensor is float32, whatever the parameter's format.
# - Return the bytes of all state tensors after the first step, counting each storage once.
# - The tensors have shapes but no values, so compute the bytes without an optimizer.
#
# The check asks for the exact bytes, on DistilBERT and on lists that the lesson does not show.


# %% exercise="predict_eight_bit_state"
def predict_eight_bit_state(parameters: list) -> int:
    """Bytes that 8-bit Adam keeps from step to step.

    Args:
        parameters: Tensors; each has .numel() and .requires_grad.

    Returns:
        Bytes of its state after the first step.
    """
    ### BEGIN SOLUTION
    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    large = [numbers for numbers in sizes if numbers >= 4096]
    of_codes = sum(2 * numbers + 2 * 4 * -(-numbers // 256) for numbers in large)
    code_books = 2 * 256 * 4 if large else 0
    return of_codes + code_books + sum(2 * 4 * numbers for numbers in sizes if numbers < 4096)
    ### END SOLUTION


# %%
two = [torch.zeros(100, 100, requires_grad=True), torch.zeros(100, requires_grad=True)]
look(lambda: format_bytes(predict_eight_bit_state(two)))

# %% check="check_eight_bit_state" points=2
check_eight_bit_state(predict_eight_bit_state)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: 4,096 numbers have 16 scales, and 5,000 have 20. How many numbers share one?<br>
# Then: which parts exist once per number, which once per block, and which once for all tensors together? Which tensors
# have no codes?
# </details>

# %% [markdown]
# **Run.** Now measure DistilBERT: take one step with gradients of zero, and sort the tensors of the state by kind. The
# cell takes about 5 seconds.

# %% tags=["given"]
from grader import make_distilbert, optimizer_state_bytes

# %%
model = make_distilbert()
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
optimizer = bitsandbytes.optim.AdamW8bit(model.parameters())
optimizer.step()
states = list(optimizer.state.values())
with_codes = [state for state in states if "qmap1" in state]
items = {
    "codes": sum(state[name].nbytes for state in with_codes for name in ("state1", "state2")),
    "scales": sum(state[name].nbytes for state in with_codes for name in ("absmax1", "absmax2")),
    "code books": sum(with_codes[0][name].nbytes for name in ("qmap1", "qmap2")),
    "small tensors": sum(
        state[name].nbytes for state in states if "qmap1" not in state for name in ("state1", "state2")
    ),
}
for name, size in items.items():
    print(f"{name:<14} {size:>11,} bytes {size / MIB:>7.2f} MiB")

# %%
measured_bytes, numbers = optimizer_state_bytes(optimizer), sum(parameter.numel() for parameter in model.parameters())
print(f"sum            {sum(items.values()):>11,} bytes")
print(f"measured       {measured_bytes:>11,} bytes {measured_bytes / MIB:>7.2f} MiB")
predicted = look(predict_eight_bit_state, list(model.parameters()))
if predicted is not None:
    print(f"predicted      {predicted:>11,} bytes")
print(f"estimate       {2 * numbers:>11,} bytes {2 * numbers / MIB:>7.2f} MiB, two for each parameter")
print(f"AdamW's state is {8 * numbers / measured_bytes:.2f} times as large")
print(f"{len(with_codes)} tensors with codes, {len(states) - len(with_codes)} small ones of {len(states)}")
for name, bytes_each in (("AdamW", 8), ("momentum in 32 bits", 4), ("8-bit", 2 + 2 * 4 / 256)):
    print(f"forecast for 3 billion parameters, {name:<19} {3e9 * bytes_each / 1e9:5.1f} GB")

# %% [markdown]
# **Investigate.** Guides estimate two bytes for each parameter, or 125.47 MiB, but the sum is 127.80 MiB. Of the
# difference, the scales account for 1.96 MiB, with one float32 number for every 256 codes. Most of the rest comes from
# the small tensors, which take eight bytes a number instead of two.
#
# In words: *the state takes one byte per number for each moment, one scale for every 256 codes, and eight bytes for
# each number of a small tensor.*
#
# **Names.** bitsandbytes calls a scale *absmax* and a code book *qmap*. The method, codes with a scale for each block,
# is called *block-wise quantization*.

# %% [markdown]
# Published slides report 127.87 MiB, in 131,566,188 elements. Their function counts every entry of the state. Before
# you run the cell: which tensors does it count more than once, and can it really have counted as many elements as
# AdamW has?

# %%
entries = [torch.as_tensor(entry) for state in states for entry in state.values()]
print(f"each entry counted: {sum(entry.numel() for entry in entries):,} elements, ", end="")
print(f"{sum(entry.nbytes for entry in entries) / MIB:.2f} MiB")
references = [state[name] for state in with_codes for name in ("qmap1", "qmap2")]
print(f"references to code books: {len(references)}, code books: {len({book.data_ptr() for book in references})}")
tables = [module.weight.numel() for module in model.modules() if isinstance(module, torch.nn.Embedding)]
saved_bytes = sum(8 * table - (2 * table + 8 * -(-table // 256)) for table in tables)
print(f"embeddings in float32 would add {saved_bytes / MIB:.2f} MiB")
del model, optimizer, states, with_codes, entries, references, parameter

# %% [markdown]
# That function counts each code book 39 times, once for every reference to it, and arrives at 132,099,588 elements. The
# 131,566,188 on the slide are AdamW's, copied over: 2 x 65,783,042 moments and 104 step counts.
#
# **Embeddings.** The paper's authors found training more stable with the state of embeddings in 32 bits. For DistilBERT
# that nearly doubles the state. With bitsandbytes, `GlobalOptimManager` does this for individual tensors; the Trainer
# does it **for every embedding**, without being asked. After the next exercises you will see why a GPU needs it.
#
# **The limit.** In the next cell, a tensor with one number less takes more than three times the bytes.

# %%
for numbers in (4095, 4096):
    weight = torch.nn.Parameter(torch.zeros(numbers, device=device))
    weight.grad = torch.ones_like(weight)
    tiny = bitsandbytes.optim.AdamW8bit([weight])
    tiny.step()
    print(f"{numbers:,} numbers: {optimizer_state_bytes(tiny):>6,} bytes, {tiny.state[weight]['state1'].dtype}")

# %% [markdown]
# ## Which 256 values?
#
# The first idea is **linear** codes, evenly spaced from -1 to 1. The largest number of a tensor gets the code of 1, and
# numbers smaller than half the spacing become 0.
#
# The second idea is **dynamic** codes. They cover seven decades, from 1e-7 to 1, and each decade has twice as many
# codes as the next smaller one. A decade is cut into equal parts, and each code is the middle of its part. Codes near
# the scale are therefore 1.4 % of it apart, and yet a millionth of the scale does not become 0.
#
# The first moment can be negative. The second cannot, so its code book spends no codes on numbers below zero.


# %% tags=["given"]
def make_code_book(is_signed: bool):
    """The dynamic code book: 256 values in ascending order."""
    values = [0.0, 1.0]
    for decade in range(7):
        parts = 2**decade if is_signed else 2 ** (decade + 1)
        ends = torch.linspace(0.1, 1, parts + 1)
        middles = (ends[:-1] + ends[1:]) / 2 * 10.0 ** (decade - 6)
        values += middles.tolist() + ((-middles).tolist() if is_signed else [])
    return torch.tensor(sorted(values), device=device)


SIGNED, UNSIGNED = make_code_book(is_signed=True), make_code_book(is_signed=False)
LINEAR = torch.arange(-127, 128, device=device) / 127

# %%
for name, book, other in (("signed", SIGNED, True), ("unsigned", UNSIGNED, False)):
    same = torch.equal(book.cpu(), bitsandbytes.functional.create_dynamic_map(signed=other))
    smallest = float(book[book > 0].min())
    print(f"{name:<8} {len(book)} codes, smallest above 0: {smallest:.2g}, the book of bitsandbytes: {same}")

# %% [markdown]
# To encode a tensor, divide it by the scale, which is its largest magnitude, then take the nearest code for each
# number. The border between two codes is halfway between them, and `torch.bucketize` counts the borders below a
# number. The next cell works this out with one scale for the whole tensor.


# %% tags=["given"]
from grader import check_block_codes, decode_blocks, encode_blocks


def quantize_whole(values, code_book):
    """Codes in the shape of the values, and one scale, [1]."""
    scale = values.abs().max()
    borders = (code_book[1:] + code_book[:-1]) / 2
    return torch.bucketize(values / scale, borders).to(torch.uint8), scale.view(1)


torch.manual_seed(0)
values = torch.randn(65_536)
values[32_768] = 1000.0  # an outlier of 1,000 standard deviations
values = values.to(device)


def error_of_the_rest(decoded):
    """How far all numbers but the outlier are off, as a share of their norm."""
    rest = torch.arange(len(values), device=device) != 32_768
    return float(torch.linalg.vector_norm((decoded - values)[rest]) / torch.linalg.vector_norm(values[rest]))


# %% [markdown]
# One number in 65,536 is 1,000 times as large as the others typically are. Before you run the cell: how much of the
# others survives with linear codes, and how much with dynamic ones?

# %%
for name, book in (("linear codes, one scale", LINEAR), ("dynamic codes, one scale", SIGNED)):
    codes, scale = quantize_whole(values, book)
    print(f"{name:<25} error of the rest {error_of_the_rest(book[codes.long()] * scale):7.1%}")

# %% [markdown]
# With linear codes nothing survives: all other numbers become 0. Dynamic codes keep them with an error of 8.4 %,
# because a typical number is now a thousandth of the scale, where codes are sparse.
#
# The remedy is to limit how many numbers an outlier can affect. If each **block** has its own scale, an outlier spoils
# only its own block.

# %% [markdown]
# ## Complete: the block quantizer
#
# **Exercise.** Quantize by blocks. The flattened numbers and the borders are given.
#
# *Contract.* A block is `block_size` consecutive numbers, row by row, whatever the shape; the last block may be short.
# Return two tensors:
# - codes, `torch.uint8`, in the shape of `values`: the position of the nearest value in `code_book`;
# - scales, float32, [blocks]: the largest magnitude in each block. A block of zeros has the scale 0; its codes are
#   free.
#
# Change neither `values` nor `code_book`. Write it by hand, without `encode_blocks` or the quantizer of bitsandbytes.
#
# The check uses several shapes, block sizes and code books, and scales of 1e-15.


# %% exercise="quantize_blocks"
def quantize_blocks(values, code_book, block_size: int):
    """Quantize a tensor by blocks.

    Args:
        values: Float32 numbers of any shape.
        code_book: Values from -1 or 0 to 1, in ascending order, at most 256.
        block_size: Numbers that share a scale.

    Returns:
        Codes, uint8 in the shape of `values`, and scales, float32 [blocks].
    """
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    ### BEGIN SOLUTION
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales
    ### END SOLUTION


# %%
def show_block_errors():
    for block_size in (256, 2048):
        codes, scales = quantize_blocks(values, SIGNED, block_size)
        error = error_of_the_rest(decode_blocks(codes, scales, SIGNED, block_size))
        print(f"blocks of {block_size:>5,}: {len(scales):>3} scales, error of the rest {error:.1%}")


look(show_block_errors)

# %% check="check_block_codes" points=3
check_block_codes(quantize_blocks)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: pad the flattened numbers with zeros until they can be viewed as a table with one block per row. Zeros change
# no scale.<br>
# Then: find the largest magnitude of each row, divide each row by its own, and search the borders. Cut the padding off
# at the end.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does a smaller block make codes more exact?</summary>
# Fewer numbers share the scale of an outlier, so more numbers fall where codes are dense.
# </details>
#
# **Modify.** What does a smaller block cost? `encode_blocks` is the course's own version of your function, with one
# additional rule, explained after the next exercise. `decode_blocks` turns codes back into numbers. Before you run the
# cell: by how much does the error fall when blocks shrink from 256 numbers to 64?

# %%
from grader import draw_curves

sizes = [64, 256, 1024, 4096]
errors = [error_of_the_rest(decode_blocks(*encode_blocks(values, SIGNED, size), SIGNED, size)) for size in sizes]
draw_curves(
    sizes,
    {"error of the rest": [100 * error for error in errors], "bytes of scales": [400 / size for size in sizes]},
    title="One outlier of 1,000 standard deviations in 65,536 numbers",
    x_label="numbers in a block",
    y_label="% of the numbers",
)

# %% [markdown]
# From 256 to 64 the error falls by a fifth, while the scales take four times as many bytes. The paper's blocks have
# 2,048 numbers; bitsandbytes has used 256 since its version 0.44.
#
# ## Write: the 8-bit step
#
# A step of 8-bit AdamW **decodes** both moments, takes AdamW's step with them in float32, and **encodes** them again.
# Between two steps, only codes and scales are kept for a large tensor. Its float32 moments exist only while that tensor
# is being updated.
#
# AdamW's step for one tensor is given. It changes the weight and both moments in place.

# %% tags=["given"]
from grader import OwnOptimizer, check_eight_bit_steps

BOOKS = {"mean": SIGNED, "square_mean": UNSIGNED}


def adamw_update(weight, gradient, mean, square_mean, step, group):
    """AdamW as in lesson 06: `step` counts from 1, `group` holds the options."""
    beta1, beta2 = group["betas"]
    mean.lerp_(gradient, 1 - beta1)
    square_mean.lerp_(gradient.square(), 1 - beta2)
    weight.mul_(1 - group["lr"] * group["weight_decay"])
    root = (square_mean / (1 - beta2**step)).sqrt()
    weight.sub_(group["lr"] * mean / (1 - beta1**step) / (root + group["eps"]))


codes, scales = encode_blocks(torch.tensor([0.5, -3.0, 0.0], device=device), SIGNED)
print("codes", codes.tolist(), "scales", scales.tolist())
print("decoded", decode_blocks(codes, scales, SIGNED).tolist(), "(SIGNED begins at -0.993)")

# %% [markdown]
# Next you write the step. `encode_blocks(values, book)` and `decode_blocks(codes, scales, book)` use blocks of 256
# numbers. Update the weight with the moments as computed in float32, and encode them only afterwards.

# %% [markdown]
# **Exercise.** Write the step of 8-bit AdamW.
#
# *Contract.*
# - Go through `optimizer.param_groups`; each group holds `"params"` and the options that `adamw_update` reads. Skip a
#   parameter whose `.grad` is None: no decay, no state.
# - `optimizer.state[parameter]` is an empty dict at first. Keep the parameter's step count and both moments there,
#   starting from zero: codes and scales from 4,096 numbers on, float32 below. Books: `SIGNED` for the mean, `UNSIGNED`
#   for the other.
# - Keep moments as tensors, which may be in tuples, lists or dicts. Change no gradients or options.
# - Use no optimizer of PyTorch or bitsandbytes.
#
# The check compares the weights after each of 8 steps, and the formats in the state.


# %% exercise="eight_bit_step"
def eight_bit_step(optimizer) -> None:
    """Take one step of 8-bit AdamW with all groups, by hand.

    Args:
        optimizer: Has `param_groups`, a list of dicts, and `state`, a dict for each parameter.
    """
    ### BEGIN SOLUTION
    for group in optimizer.param_groups:
        for weight in [weight for weight in group["params"] if weight.grad is not None]:
            state, has_codes = optimizer.state[weight], weight.numel() >= 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(zeros, book) if has_codes else zeros.clone()
            state["step"] += 1
            moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
            adamw_update(weight, weight.grad, *moments, state["step"], group)
            if has_codes:
                state |= {
                    name: encode_blocks(*pair) for name, *pair in zip(BOOKS, moments, BOOKS.values(), strict=True)
                }
    ### END SOLUTION


# %%
from grader import make_chain, measure_weight_distance


def train_chain(make_optimizer):
    chain = make_chain(2, 32, 128).to(device)
    optimizer = make_optimizer(chain.parameters())
    torch.manual_seed(1)
    for _ in range(20):
        inputs = torch.randn(64, 32, device=device)  # [batch, width]
        optimizer.zero_grad()
        (chain(inputs) - inputs).square().mean().backward()
        optimizer.step()
    return chain, optimizer_state_bytes(optimizer)


def compare_steps():
    reference, exact_bytes = train_chain(lambda parameters: torch.optim.AdamW(parameters, lr=1e-3))
    own, own_bytes = train_chain(lambda parameters: OwnOptimizer(eight_bit_step, parameters, lr=1e-3))
    library, library_bytes = train_chain(lambda parameters: bitsandbytes.optim.AdamW8bit(parameters, lr=1e-3))
    for name, trained, size in (("yours", own, own_bytes), ("bitsandbytes", library, library_bytes)):
        distance = measure_weight_distance(trained, reference, make_chain(2, 32, 128).to(device))
        print(f"{name:<12} {size:>7,} bytes of state, {distance:.1%} of the way from AdamW ({exact_bytes:,} bytes)")


look(compare_steps)

# %% [markdown]
# bitsandbytes keeps 2,048 bytes more in its state: the two code books.

# %% check="check_eight_bit_steps" points=4
check_eight_bit_steps(eight_bit_step)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write the step for small tensors only: two loops, the skip, a state with a count and two tensors, one call of
# adamw_update.<br>
# Then: what does the state of a large tensor hold instead of each tensor? Where is it decoded, and where is it encoded
# again?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is the state small, although each step computes in float32?</summary>
# The float32 moments exist for one tensor at a time, and are freed before the next tensor is updated.
# </details>
#
# In bitsandbytes, `Adam8bit` and `AdamW8bit` run the same update, with decoupled weight decay. They differ only in the
# default of `weight_decay`: 0 and 0.01, respectively.

# %% [markdown]
# ## Why embeddings keep 32 bits
#
# Suppose a number once had a gradient of 0.0001, in the same block as a number whose gradient was 1. Both moments are
# encoded, and the next gradient is 0. Before you run the cell: what does the step divide by if the second moment has
# become 0?

# %%
gradients = torch.tensor([1.0, 1e-4], device=device)
mean = decode_blocks(*encode_blocks(0.1 * gradients, SIGNED), SIGNED)
for name, encode in (("nearest code", quantize_whole), ("encode_blocks", encode_blocks)):
    square_mean = decode_blocks(*encode(0.001 * gradients.square(), UNSIGNED), UNSIGNED)
    step = float(mean[1] / (square_mean[1].sqrt() + 1e-8))
    print(f"{name:<14} second moment {float(square_mean[1]):.1e}, a step of {step:,.1f} learning rates")
codes, _ = bitsandbytes.functional.quantize_blockwise(torch.eye(2), code=UNSIGNED.cpu(), blocksize=256)
print("code of a 0 in one block with a 1, bitsandbytes on a CPU:", int(codes[0, 1]))

# %% [markdown]
# With a second moment of 0, the step divides by epsilon alone, while the first moment is not 0: the step is far too
# long. So `encode_blocks` never gives code 0 in a block whose scale is not 0, and bitsandbytes 0.50.2 **on a CPU**
# gives at least code 7. Its **CUDA kernel takes the nearest code**, code 0.
#
# This happens in embeddings, where a frequent word's row and a rare word's share a block. On the task below, the
# course's tests replay CUDA's rule: with all state in codes, the loss ends 1.9 to 2.7 times as high as AdamW's; with
# the embedding's in 32 bits, 1.00 times. So on a GPU the override is necessary.

# %% [markdown]
# ## The trade-off
#
# Now compare all optimizers of this Part on one task: which of 32 topics does a text of eight words have? Most words
# are rare, as in real text. Each optimizer takes 60 updates at its best learning rate: half that rate and twice that
# rate both end at a higher loss.

# %%
from transformers.optimization import Adafactor

from grader import draw_points

as_the_trainer = {"scale_parameter": False, "relative_step": False}
makers = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.2),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.04, momentum=0.9),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=8e-3),
    "Adafactor": lambda parameters: Adafactor(parameters, lr=4e-3, **as_the_trainer),
    "8-bit AdamW": lambda parameters: bitsandbytes.optim.AdamW8bit(parameters, lr=8e-3),
    "8-bit, embedding 32": lambda parameters: bitsandbytes.optim.AdamW8bit(parameters, lr=8e-3),
}

# %% tags=["given"]
from grader import make_word_batches, make_word_sorter

texts = [(words.to(device), topics.to(device)) for words, topics in make_word_batches(60, vocabulary=2048)]
((other_words, other_topics),) = make_word_batches(1, rows=1024, vocabulary=2048, draw=1)


# %% tags=["given"]
manager = bitsandbytes.optim.GlobalOptimManager.get_instance()  # one for the whole process


def keep_embeddings_in_32_bits(model):
    """Override the format of the state, before the first step."""
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            manager.register_module_override(module, "weight", {"optim_bits": 32})


# %%
def train_words(make_optimizer):
    sorter = make_word_sorter(2048).to(device)
    if make_optimizer is makers["8-bit, embedding 32"]:
        keep_embeddings_in_32_bits(sorter)
    optimizer = make_optimizer(sorter.parameters())
    losses = []
    for number, (words, topics) in enumerate(texts, start=1):
        optimizer.zero_grad()
        sorter(words, topics).backward()
        optimizer.step()
        if number % 15 == 0:
            with torch.no_grad():
                losses.append(float(sorter(other_words.to(device), other_topics.to(device))))
    return losses, optimizer_state_bytes(optimizer) / MIB


# %%
runs = {name: train_words(make_optimizer) for name, make_optimizer in makers.items()}
manager.initialize()  # forgets the override
draw_points(
    {name: (state_mib, losses[-1]) for name, (losses, state_mib) in runs.items()},
    title="Loss on 1,024 other texts after 60 updates",
    x_label="optimizer state, MiB",
    y_label="loss",
)

# %%
curves = {name: runs[name][0] for name in ("AdamW", "8-bit AdamW", "8-bit, embedding 32")}
draw_curves([15, 30, 45, 60], curves, title="8 bits and 32", x_label="updates", y_label="loss on other texts")

# %% [markdown]
# Both kinds of SGD end at the highest losses, because one learning rate serves all weights, however small their
# gradients are. The other optimizers end close together on a CPU; on a GPU, "8-bit AdamW" without the override does
# not. Most parameters of this model are in the embedding, so the override costs most of the saving; in DistilBERT it
# is a third.
#
# One task and 60 updates prove no rule. Only the bytes hold in general:
#
# | | bytes of state for each parameter |
# |---|---|
# | SGD | 0 |
# | SGD with momentum | 4 |
# | AdamW | 8 |
# | 8-bit AdamW | 2, plus scales and small tensors |
# | Adafactor without momentum | nearly 0: rows and columns |

# %% [markdown]
# ## Three forms of one run
#
# | raw | Accelerate | Trainer |
# |---|---|---|
# | `AdamW8bit(groups, lr=lr)` | the same, prepared | `optim="adamw_bnb_8bit"`, `learning_rate=lr` |
# | embeddings: codes, unless overridden | codes, unless overridden | **32 bits, always** |
# | two decay groups by hand | by hand | `weight_decay=...` |
#
# By default, then, the three forms keep different states. Overrides are registered before the first step, with a single
# manager for the whole process. Before you run the cell: in which format is the state of **another** layer, in another
# optimizer?


# %% tags=["given"]
def format_of_state(layer):
    """The format of the first moment after one step of a new 8-bit optimizer."""
    layer.weight.grad = torch.ones_like(layer.weight)
    fresh = bitsandbytes.optim.AdamW8bit([layer.weight])
    fresh.step()
    return fresh.state[layer.weight]["state1"].dtype


# %%
table, other = torch.nn.Embedding(64, 64).to(device), torch.nn.Linear(64, 64).to(device)
manager.register_module_override(table, "weight", {"optim_bits": 32})
print("the layer with the override:", format_of_state(table))
print("another layer:", format_of_state(other))
manager.initialize()  # forgets all overrides
print("another layer, after initialize():", format_of_state(other))

# %% [markdown]
# The manager also records the **position** of a parameter in its optimizer, and the first parameter of any later
# optimizer has the same position. After a run with overrides, you must therefore call `manager.initialize()` before the
# next run.

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import (
    check_eight_bit_accelerate,
    check_eight_bit_trainer,
    make_pair_classifier,
    make_sentence_pairs,
    make_tokenizer,
    plain_trainer_arguments,
    tokenize_pairs,
)

same_run = plain_trainer_arguments(device)  # one epoch in order, no clipping, constant rate, optim="sgd"
training = tokenize_pairs(make_sentence_pairs("train"), make_tokenizer())  # as in lesson 06

# %% [markdown]
# **Exercise.** Train with 8-bit AdamW, once with Accelerate and once with the Trainer.
#
# *Contract (both).*
# - Use 8-bit AdamW of bitsandbytes with constant `lr`. Parameters of two or more dimensions decay by `weight_decay`,
#   all others do not.
# - The state of embeddings is float32; that of every other tensor of 4,096 numbers or more is codes.
# - Train one epoch in order, one update per batch of `rows` rows, the short last one included.
# - Accelerate: prepare model, optimizer and loader, use what `prepare` returns, call `accelerator.backward`.
# - Trainer: add your arguments to `same_run` with `|`.
#
# The checks compare gradients, options, formats and bytes of the state, and weights.


# %% exercise="train_eight_bit_with_accelerate"
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    """Train a model in a loop with Accelerate, with 8-bit AdamW, two groups, and embeddings in 32 bits.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of an update.
        lr: Learning rate, constant.
        weight_decay: Of matrices and embeddings.
    """
    ### BEGIN SOLUTION
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            manager.register_module_override(module, "weight", {"optim_bits": 32})
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer, accelerator = bitsandbytes.optim.AdamW8bit(groups, lr=lr), Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="train_eight_bit_with_trainer"
def train_eight_bit_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    """Train a model with the Trainer, with 8-bit AdamW, two groups, and embeddings in 32 bits.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of an update.
        lr: Learning rate, constant.
        weight_decay: Of matrices and embeddings.
    """
    ### BEGIN SOLUTION
    own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
    arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
    Trainer(model, arguments, train_dataset=dataset).train()
    ### END SOLUTION


# %%
from grader import measure_optimizer_run

few_pairs, start = training.select(range(40)), make_pair_classifier().to(device)


def train_raw(model, make_optimizer, is_overridden=False):
    """Two groups, five updates of 8 rows."""
    if is_overridden:
        keep_embeddings_in_32_bits(model)
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = make_optimizer(groups, lr=1e-3)
    for batch in DataLoader(few_pairs, batch_size=8):
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %%
forms = {"raw": lambda model: train_raw(model, bitsandbytes.optim.AdamW8bit, is_overridden=True)}
forms["raw, no override"] = lambda model: train_raw(model, bitsandbytes.optim.AdamW8bit)
forms["plain: AdamW"] = lambda model: train_raw(model, torch.optim.AdamW)
forms["Accelerate"] = lambda model: train_eight_bit_with_accelerate(model, few_pairs, 8, 1e-3, 0.1)
forms["Trainer"] = lambda model: train_eight_bit_with_trainer(model, few_pairs, 8, 1e-3, 0.1)

# %%
import contextlib
import io

print(f"{'form':<17} {'from raw':>9} {'state, bytes':>13} {'update, ms':>11}")
ends = {}
for name, train in forms.items():
    ends[name] = make_pair_classifier().to(device)
    with contextlib.redirect_stdout(io.StringIO()) as printed:  # the Trainer prints a line for each run
        run = look(measure_optimizer_run, train, ends[name])
    manager.initialize()
    if run:
        distance = measure_weight_distance(ends[name], ends["raw"], start)
        print(f"{name:<17} {distance:>9.1e} {run.state_bytes:>13,} {1e3 * run.step_seconds:>11.1f}")
    else:
        print(name, printed.getvalue())

# %% check="check_eight_bit_accelerate" points=2
check_eight_bit_accelerate(train_eight_bit_with_accelerate)

# %% check="check_eight_bit_trainer" points=2
check_eight_bit_trainer(train_eight_bit_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the Trainer builds the two groups, the optimizer and the overrides from its arguments. Which three arguments
# are they?<br>
# Then: with Accelerate you build them yourself: two lists of parameters, one override for each embedding, three objects
# to prepare.
# </details>

# %% [markdown]
# ## The price
#
# | | this device | a GPU |
# |---|---|---|
# | state | a quarter of AdamW's | the same |
# | temporary buffers | float32 copies of one tensor at a time | none: one kernel decodes, updates, encodes |
# | time of a step | measured below | 9.15 samples/s in the published run, 8.86 with an AdamW that was not fused |
# | paged state, which moves to the CPU under memory pressure | bitsandbytes warns, and does not page it | available |

# %%
from grader import measure_step_time

pair = [make_chain(8, 256, 1024).to(device) for _ in range(2)]
for chain in pair:
    for parameter in chain.parameters():
        parameter.grad = torch.ones_like(parameter)
adamw = torch.optim.AdamW(pair[0].parameters(), fused=True)
eight_bit = bitsandbytes.optim.AdamW8bit(pair[1].parameters())


def fused_adamw():
    adamw.step()


def eight_bit_adamw():
    eight_bit.step()


print(measure_step_time(fused_adamw, eight_bit_adamw, run_count=5, warm_up_count=1))

# %% [markdown]
# **At real scale.** BERT-large has 335 million parameters. The forecast runs on tensors without data and emulates
# CUDA's operators. It is printed next to the figure that `nvidia-smi` showed in the published run, less 1,343 MiB for
# the CUDA context. "All the rest" is gradient accumulation, gradient checkpointing and fp16. The cell takes 10 to 20
# seconds.

# %%
from grader import BERT_LARGE_ROWS, bert_large_recipe, forecast_peak_memory

for name, row in (("batch 4", "adam_8bit"), ("all the rest", "adam_8bit_and_the_rest")):
    forecast = forecast_peak_memory(bert_large_recipe(row))
    published_mib = BERT_LARGE_ROWS[row].less_context_mib
    gap = f"gap {published_mib - forecast.peak_bytes / MIB:>5,.0f} MiB"
    print(f"{name:<13} forecast {forecast.peak_bytes / MIB:>6,.0f} MiB   published {published_mib:>6,} MiB   {gap}")
print(f"optimizer state in both: {forecast.optimizer_state_bytes / MIB:,.1f} MiB")
print("not forecast: allocator reserve and fragmentation")

# %% [markdown]
# The forecast does not include the allocator's reserve, which `nvidia-smi` counts. With batch 4, where activations are
# most of the peak, the gap is 3,120 MiB. With all the rest there are few activations, and the gap is 158 MiB.
#
# **Use 8-bit AdamW when** AdamW trains well and its state is what does not fit. **Do not when** activations dominate
# the peak, or when most parameters are in small tensors or embeddings, whose state stays in 32 bits. **Combine with**
# gradient accumulation, checkpointing and mixed precision; compare the loss with AdamW's before a long run.

# %% [markdown] tags=["further"]
# ## Further: a job
#
# A text classifier has to be trained with little memory. Its parameters are already allocated. Gradients, optimizer
# state, activations and buffers must together fit into 85 % of the **parameters'** bytes. AdamW's state alone would
# take 200 %.
#
# The loss is judged as well. You may use everything that you have learnt in this Part.

# %% tags=["given"]
from grader import check_lean_job, measure_peak_memory

# %% [markdown]
# **Exercise.** Train the model within its budget.
#
# *Contract.*
# - `model(words, topics)` returns the loss of a batch. Go through `batches` once, in order; for each, run one forward
#   pass of the model itself, one backward pass and one update.
# - Never hold more than `budget_bytes` in addition to the parameters. Hold nothing when you return: remove gradients
#   and hooks.
# - Keep all parameters in float32 throughout, and train all of them. Do not keep the embedding's state in codes: on a
#   GPU the run would end far from AdamW's loss.
#
# The check measures the peak, and the loss on other texts: at most 1.4 times that of AdamW with a learning rate of
# 4e-3.


# %% exercise="train_within"
def train_within(model, batches: list, budget_bytes: int) -> None:
    """Train a model, holding at most so many bytes in addition to its parameters.

    Args:
        model: Called with words [rows, 8] and topics [rows]; returns the mean loss.
        batches: Words and topics of each update, on the CPU.
        budget_bytes: Bytes for gradients, state, activations and buffers.
    """

    ### BEGIN SOLUTION
    def make_hook(optimizer):
        def update(parameter):
            optimizer.step()
            optimizer.zero_grad()

        return update

    tables = [module.weight for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    handles = []
    for parameter in model.parameters():
        is_table = any(parameter is table for table in tables)
        make_optimizer = torch.optim.AdamW if is_table else bitsandbytes.optim.AdamW8bit
        handles.append(parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter], lr=4e-3))))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()
    ### END SOLUTION


# %%
def show_job():
    sorter = make_word_sorter(512, 192, 384, blocks=16).to(device)
    parameter_bytes = sum(parameter.nbytes for parameter in sorter.parameters())
    few, budget_bytes = make_word_batches(2, rows=8, vocabulary=512), int(0.85 * parameter_bytes)
    peak = measure_peak_memory(lambda: train_within(sorter, few, budget_bytes), model=sorter)
    print(f"{format_bytes(peak.above_entry_bytes)} more than the parameters, budget {format_bytes(budget_bytes)}")
    small = make_word_sorter(2048).to(device)
    train_within(small, texts, budget_bytes)
    with torch.no_grad():
        print(f"loss {float(small(other_words.to(device), other_topics.to(device))):.3f}")


look(show_job)

# %% check="check_lean_job" points=2
check_lean_job(train_within)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write down what is held in memory when an ordinary loop calls `step()`, each item in multiples of the
# parameters.<br>
# Then: two of these items have to shrink. One of them need not exist all at once.
# </details>

# %% [markdown]
# ## Further: bug hunt
#
# This published loop uses 8-bit Adam with Accelerate. Before it, `prepare` has returned `adam_bnb_optim`.
#
# ```python
# for batch in train_dataloader:
#     outputs = model(**batch)
#     accelerator.backward(outputs.loss)
#     trainer.optimizer.step()
#     lr_scheduler.step()
#     adam_bnb_optim.zero_grad()
# ```
#
# The optimizer has two parameter groups, with `weight_decay=TrainingArguments("out").weight_decay` and `0.0`. Find two
# bugs.
#
# <details><summary>The two bugs</summary>
# The loop steps the optimizer of another object, the Trainer, instead of the prepared one. And because the default of
# TrainingArguments.weight_decay is 0.0, the two groups do not differ.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>What does 8-bit Adam keep for a tensor of 100,000 numbers?</summary>
# 200,000 codes of one byte, and 2 x 391 scales of four bytes. Both code books are shared with other tensors.
# </details>
# <details><summary>Why does each block have its own scale?</summary>
# So that an outlier makes only the codes of its own block coarse.
# </details>
# <details><summary>Which optimizers of this Part keep less than four bytes for each parameter?</summary>
# SGD without momentum, Adafactor without momentum, and 8-bit Adam.
# </details>
#
# **Takeaway: AdamW's state fits into a quarter of its bytes, because each block of codes has its own scale.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 09, learning rate schedules.

# %% [markdown]
# **Sources**
# - [Dettmers, Lewis, Shleifer and Zettlemoyer, 8-bit optimizers][paper]: blocks of 2,048, dynamic codes, embeddings.
# - [Dettmers, 8-bit approximations][dynamic]: the dynamic code book.
# - [bitsandbytes, 8-bit optimizers][library]: blocks of 256, the limit of 4,096, paged optimizers.
# - [Efficient training on a single GPU][guide]: the figures of BERT-large, and samples a second.
# - *Efficient AI model training with PyTorch*, slides: the count of the state and the loop of the bug hunt.
#
# [paper]: https://arxiv.org/abs/2110.02861
# [dynamic]: https://arxiv.org/abs/1511.04561
# [library]: https://huggingface.co/docs/bitsandbytes/optimizers
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
