# %% [markdown]
# # 20. FP8 training
#
# You run the matrix products of a model in 8 bits, with scales that keep its training nearly unchanged.
#
# 55 min (estimated) · CPU is enough · after lesson 08

# %% [markdown] objectives="1; 2; 3; 4"
# **You will be able to**
# - predict what a scaled cast to 8 bits loses, outliers included;
# - choose scales that can be taken out of a matrix product;
# - write a linear layer that uses fp8 in both directions and saves one byte per number;
# - ask Accelerate for fp8, and keep the right layers out of it.

# %% tags=["given"]
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from grader import device_name, draw_curves, lesson_device, look

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 08: what does one outlier of 1,000 sigma do to linear 8-bit codes with one scale?</summary>
# Everything else becomes zero, because one step of the codes is about eight sigma.
# </details>
# <details><summary>Lesson 05: why is the loss multiplied by 65,536 in fp16?</summary>
# Small gradients would be zero in fp16. The factor lifts them into its range, and is divided out before the update.
# </details>

# %% [markdown]
# **The problem.** An H100 multiplies 8-bit floats at twice the rate of 16-bit ones. But an 8-bit format can represent
# at most 256 numbers. Two formats are in use, **e4m3** (4 bits of exponent, 3 of mantissa) and **e5m2**. What do they
# lose?

# %%
print("".join(f"{name:>10}" for name in ("format", "largest", "normal", "subnormal", "step at 1")))
for dtype in (E4M3, E5M2, torch.bfloat16):
    limits = torch.finfo(dtype)
    ends = f"{limits.max:>10.4g}{limits.smallest_normal:>10.2g}{limits.smallest_normal * limits.eps:>10.2g}"
    print(f"{str(dtype)[6:].removeprefix('float8_')[:8]:>10}{ends}{limits.eps:>10}")
for value in (0.0009, 0.001, 1.0, 1.06, 1.07, 500.0, 1e6):
    print(
        f"{value:>9} is {', '.join(f'{torch.tensor(value).to(dtype).item():g} in {dtype}' for dtype in (E4M3, E5M2))}"
    )

# %% [markdown]
# What happens above the largest number depends on the format and on the version. e4m3 has no infinity: since PyTorch
# 2.12 a cast stops at 448, and before that it gave NaN. e5m2 goes to infinity. Libraries therefore clamp before they
# cast.
#
# Gradients of `1e-6` become zero in e4m3. One factor for the whole loss, as in fp16, is not enough here: in 8 bits
# each *tensor* needs its own. This **scale** multiplies the tensor before the cast, and is divided out after the
# product.

# %% [markdown]
# ## Predict: what a scaled cast loses
#
# *Current scaling* computes the scale from the tensor itself, so that its largest magnitude becomes the format's
# largest number. Think of values from a normal distribution, with **one outlier of 1,000 sigma**. The scale shrinks
# all other values, too. How many of them become zero: almost all (as in lesson 08), about half, or almost none?

# %% [markdown]
# **Exercise.** Predict the scale, and what it loses.
#
# *Contract.*
# - The values are normal, with mean 0 and standard deviation `sigma`, except for a few outliers; `largest` is the
#   tensor's largest magnitude. `dtype` is a floating-point format of at most 32 bits with subnormal numbers.
# - Return three numbers: the scale; the largest magnitude, *in the tensor's own units*, that comes back as zero; and
#   the share of the normal values that comes back as zero, between 0 and 1.
# - Casts round to the nearest number, and half-way values to the even one. A normal value is within `z` sigma with
#   probability `erf(z / √2)`.

# %% tags=["given"]
from grader import check_predicted_cast


# %% exercise="predict_cast"
def predict_cast(sigma: float, largest: float, dtype: torch.dtype) -> tuple[float, float, float]:
    """Predict what a cast with current scaling loses.

    Args:
        sigma: Standard deviation of the normal values.
        largest: Largest magnitude in the tensor.
        dtype: The format; torch.finfo knows its limits.

    Returns:
        The scale, the largest magnitude that comes back as zero, and the share of the normal values that does.
    """
    ### BEGIN SOLUTION
    limits = torch.finfo(dtype)
    scale = limits.max / largest
    subnormal = limits.smallest_normal * limits.eps
    flushed = subnormal / 2 / scale
    return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
    ### END SOLUTION


# %%
def cast_and_back(values: torch.Tensor, scale: float, dtype: torch.dtype) -> torch.Tensor:
    largest = torch.finfo(dtype).max
    return (values * scale).clamp(-largest, largest).to(dtype).float() / scale


def compare_casts():
    values = torch.randn(200_000, generator=torch.Generator().manual_seed(0))
    for dtype in (E4M3, E5M2):
        for outlier in (1e3, 1e5, 1e6):
            scale, _, share = predict_cast(1.0, outlier, dtype)
            back = cast_and_back(values, scale, dtype)
            error, lost = (back - values).norm() / values.norm(), (back == 0).float().mean()
            name = f"{str(dtype)[13:17]}, {outlier:>9,.0f} sigma"
            print(f"{name}: lost {lost:7.2%}, predicted {share:7.2%}; error of the rest {error:.1%}")


look(compare_casts)

# %% check="check_predicted_cast" points=2
check_predicted_cast(predict_cast)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which positive values round to zero in a format whose smallest number is 8?<br>
# Then: that limit holds after the scaling. Which value was it before?
# </details>

# %% [markdown]
# **Investigate.** The next cell shows the error of all values except the outlier, for three ways to use 8 bits with
# one scale.

# %%
values = torch.randn(50_000, generator=torch.Generator().manual_seed(0))
outliers = [10**power for power in range(1, 8)]
curves = {"e4m3": [], "e5m2": [], "linear codes (int8)": []}
for outlier in outliers:
    codes = (values * 127 / outlier).round().clamp(-127, 127) * outlier / 127
    backs = [cast_and_back(values, torch.finfo(dtype).max / outlier, dtype) for dtype in (E4M3, E5M2)]
    for curve, back in zip(curves.values(), [*backs, codes], strict=True):
        curve.append(100 * float((back - values).norm() / values.norm()))
labels = [f"{outlier:.0e}" for outlier in outliers]
draw_curves(
    outliers, curves, title="One outlier, one scale", x_label="outlier, sigma", y_label="error, %", names=labels
)

# %% [markdown]
# Linear codes lose ten times as much with each step to the right, and everything from 1,000 sigma on. Floats have a
# **plateau**: their spacing is proportional to the value, so a scale changes nothing until values reach the subnormal
# numbers. From its smallest to its largest number,
# e4m3 spans a factor of 229,000. e5m2 spans 3.8 billion, at twice the error.
#
# Outliers of 1,000 sigma are therefore harmless. In large language models a few activations are up to 100,000 times as
# large as the others ([Sun and others, 2024][massive]). There, e4m3 with one scale leaves its plateau.
#
# [massive]: https://arxiv.org/abs/2402.17762

# %% [markdown]
# <details><summary>Explain in one sentence: why do gradients take e5m2 although its error is twice as large?</summary>
# They spread over more orders of magnitude, and a gradient that is 5 % off still helps, while a zero does not.
# </details>

# %% [markdown]
# ## Complete: scales that leave the product
#
# In the next cell, `a` holds a few rows that are a million times smaller than others, as gradients of confident tokens
# are. With one scale for the whole tensor, these rows are lost.
#
# Scales are rounded down to a power of two here, because multiplying by a power of two changes only the exponent and
# rounds nothing.


# %% tags=["given"]
def power_of_two(values: torch.Tensor) -> torch.Tensor:
    """Return the largest power of two that is not above each positive value."""
    return torch.exp2(torch.floor(torch.log2(values)))


def tensor_scaled_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply two matrices in e4m3, with one scale for each."""
    a_scale, b_scale = (power_of_two(448 / matrix.abs().max()) for matrix in (a, b))
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    product = torch.mm(a8.float(), b8.float())
    return product / a_scale / b_scale


# %%
def report_rows(product, name: str):
    draw = torch.Generator().manual_seed(0)
    a, b = torch.randn(6, 64, generator=draw), torch.randn(64, 32, generator=draw)
    a *= torch.tensor([1, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8]).unsqueeze(1)
    wanted, found = a @ b, product(a, b)
    errors = (found - wanted).norm(dim=1) / wanted.norm(dim=1)
    print(f"{name:<17} error of each row: {', '.join(f'{error:.1%}' for error in errors.tolist())}")


report_rows(tensor_scaled_product, "one scale each")

# %% [markdown]
# **Exercise.** Give every matrix as many scales as the product allows.
#
# *Contract.*
# - `a` is [rows, k], `b` is [k, columns], both float32. Return a float32 tensor [rows, columns].
# - Proceed as `tensor_scaled_product` does: bring the largest magnitude to 448, round scales down to powers of two,
#   cast the operands to e4m3, and accumulate in float32 or wider. **All scales are taken out afterwards**, so that what
#   is multiplied is in fp8.
# - Rows and columns may be as small as 1e-15, or all zeros. Leave `a` and `b` unchanged.
#
# Before you write: the product is a sum over `k`. Which factors can be taken out of it?

# %% tags=["given"]
from grader import check_row_scaled_product


# %% exercise="row_scaled_product"
def row_scaled_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply two matrices in e4m3, with as many scales as can be taken out.

    Args:
        a: [rows, k].
        b: [k, columns].

    Returns:
        The product, [rows, columns].
    """
    ### BEGIN SOLUTION
    a_size, b_size = a.abs().amax(dim=1, keepdim=True), b.abs().amax(dim=0, keepdim=True)
    a_scale, b_scale = power_of_two(448 / a_size.clamp(min=1e-20)), power_of_two(448 / b_size.clamp(min=1e-20))
    ### END SOLUTION
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    ### BEGIN SOLUTION
    return a8.float() @ b8.float() / a_scale / b_scale
    ### END SOLUTION


# %%
look(report_rows, row_scaled_product, "one scale a row")

# %% check="check_row_scaled_product" points=3
check_row_scaled_product(row_scaled_product)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write one element of the product as a sum. Multiply `a` by a factor that depends on the row, then by one that
# depends on `k`. Which can be moved in front of the sum?<br>
# Then: what is 448 / 0, and what is zero times that?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does each column of b have a scale, but no row of it?</summary>
# A row of b contributes to only one term of the sum, so its scale cannot be taken out of all terms at once.
# </details>
#
# PyTorch has scaled products as one call, `torch.nn.functional.scaled_mm` (`torch._scaled_mm` in older versions). It
# takes the fp8 matrices and the *inverse* scales, and writes 16 or 32 bits. It also runs on CPUs, but slowly. The next
# cell checks, with one scale each, that it equals the emulated product bit for bit.

# %%
if hasattr(F, "scaled_mm"):  # on the CPU: few GPUs have the hardware, and it wants sizes that are multiples of 16
    a, b = torch.randn(32, 64), torch.randn(64, 48)
    (a_scale, b_scale), kind = (power_of_two(448 / matrix.abs().max()) for matrix in (a, b)), F.ScalingType.TensorWise
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3).t().contiguous().t()  # its second operand by columns
    found = F.scaled_mm(a8, b8, 1 / a_scale, kind, 1 / b_scale, kind, output_dtype=torch.float32)
    print("equal to the emulated product:", torch.equal(found, a8.float() @ b8.float() / a_scale / b_scale))

# %% [markdown]
# ## Write: a linear layer in fp8
#
# A linear layer needs three products, and training runs all of them:
#
# | product | operands | sums over |
# |---|---|---|
# | output | input, weight | features |
# | gradient of the input | gradient of the output, weight | outputs |
# | gradient of the weight | gradient of the output, input | rows |
#
# Each product sums over a different dimension. Row scales that fit one product therefore do not fit the next, and each
# tensor would have to be cast twice. With one scale per tensor, a single copy of the values serves both of
# its products (some GPUs also want it transposed). Write that layer.


# %% tags=["given"]
from grader import check_fp8_linear, check_fp8_saved


def to_fp8(values: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cast to fp8 with one scale, a power of two.

    Returns:
        The tensor in fp8, and the scale by which it was multiplied.
    """
    largest = torch.finfo(dtype).max
    scale = power_of_two(largest / values.detach().float().abs().max().clamp(min=1e-20))
    return (values.detach().float() * scale).clamp(-largest, largest).to(dtype), scale


# %% [markdown]
# **Exercise.** Write both directions, and the call. Lesson 03 explains `torch.autograd.Function`.
#
# *Contract.*
# - `inputs` has one or more dimensions of rows and then the features, in float32 or bf16; `weight` is
#   [outputs, features] in float32. Return `inputs @ weight.T` in the dtype of `inputs`.
# - Cast both operands of all three products to fp8 with `to_fp8`: input and weight to e4m3, the gradient of the output
#   to e5m2. Multiply in float32, then divide both scales out of the product, as above.
# - For the backward pass, autograd keeps at most **one byte per number** of input and weight; the weight itself
#   and the scales do not count. Keep nothing elsewhere.


# %% exercise="fp8_linear"
class Fp8Linear(torch.autograd.Function):
    """A linear layer whose three products are in fp8."""

    @staticmethod
    def forward(ctx, inputs, weight):
        """Multiply in e4m3, and keep what the backward pass needs."""
        ### BEGIN SOLUTION
        (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
        ctx.save_for_backward(x, x_scale, w, w_scale)
        return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, output_gradient):
        """Return the gradients of input and weight."""
        ### BEGIN SOLUTION
        x, x_scale, w, w_scale = ctx.saved_tensors
        g, g_scale = to_fp8(output_gradient, E5M2)
        of_inputs = g.float() @ w.float() / g_scale / w_scale
        of_weight = g.float().flatten(0, -2).T @ x.float().flatten(0, -2) / g_scale / x_scale
        return of_inputs.to(output_gradient.dtype), of_weight
        ### END SOLUTION


def fp8_linear(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Run a linear layer in fp8.

    Args:
        inputs: [rows, features] or with more dimensions of rows, float32 or bf16.
        weight: [outputs, features], float32.

    Returns:
        [rows, outputs] or as inputs, in the dtype of inputs.
    """
    ### BEGIN SOLUTION
    return Fp8Linear.apply(inputs, weight)
    ### END SOLUTION


# %%
def compare_gradients():
    inputs = torch.randn(64, 48, device=device, requires_grad=True)
    weight = nn.Parameter(torch.randn(32, 48, device=device) / 7)
    found = []
    for layer in (F.linear, fp8_linear):
        outputs = layer(inputs, weight)
        found.append([outputs, *torch.autograd.grad(outputs.square().sum(), (inputs, weight))])
    for name, plain, fp8 in zip(("output", "input's gradient", "weight's gradient"), *found, strict=True):
        print(f"{name:<18} differs from the plain layer's by {float((fp8 - plain).norm() / plain.norm()):.1%}")


look(compare_gradients)

# %% check="check_fp8_linear" points=3
check_fp8_linear(fp8_linear)

# %% check="check_fp8_saved" points=2
check_fp8_saved(fp8_linear)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: name the two operands of each product, and the two scales that it contains.<br>
# Then: for the gradient of the weight all leading dimensions are rows. `flatten(0, -2)` turns them into one.
# </details>

# %% [markdown]
# **Does it train?** The next cells train a small network in float32, in bf16, and in bf16 with its middle layers in
# fp8, over five seeds. The spread between seeds shows which differences matter.


# %%
class InFp8(nn.Linear):
    """A linear layer that runs your function."""

    def forward(self, inputs):
        """Run the function and add the bias; autocast would turn its float32 products into bf16 ones."""
        with torch.autocast(device.type, enabled=False):
            return fp8_linear(inputs, self.weight) + self.bias.to(inputs.dtype)


def final_loss(seed: int, kind: type[nn.Linear], dtype: torch.dtype | None) -> float:
    torch.manual_seed(seed)
    layers = [nn.Linear(16, 64), nn.GELU(), kind(64, 64), nn.GELU(), kind(64, 64), nn.GELU(), nn.Linear(64, 4)]
    model, inputs = nn.Sequential(*layers).to(device), torch.randn(2_048, 16, device=device)
    targets = torch.sin(inputs[:, :4] * 2) * inputs[:, 4:8]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for rows in torch.randint(2_048, (300, 128), device=device):
        with torch.autocast(device.type, dtype, enabled=dtype is not None):
            loss = F.mse_loss(model(inputs[rows]).float(), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return F.mse_loss(model(inputs), targets).item()


# %%
def compare_training():
    runs = {"float32": (nn.Linear, None), "bf16": (nn.Linear, torch.bfloat16), "fp8 and bf16": (InFp8, torch.bfloat16)}
    for name, (kind, dtype) in runs.items():
        losses = torch.tensor([final_loss(seed, kind, dtype) for seed in range(5)])
        listed = ", ".join(f"{loss:.4f}" for loss in losses.tolist())
        print(f"{name:<13} loss {losses.mean():.4f} on average; by seed: {listed}")


look(compare_training)

# %% [markdown]
# bf16 equals float32 to the third digit. fp8 is about 2 % worse on average, which is less than the seeds differ, but
# not nothing. Rounding by a few percent is noise whose mean is near zero, and sums over rows and steps average most of
# it out.
#
# What the update changes is never in 8 bits. The weights are float32 (**master weights**) and are cast again in every
# forward pass, and the optimizer's moments are float32, too. An e4m3 weight would ignore any update below 3 % of
# itself.
#
# Lesson 04 (Further) shows how a bf16 second moment stalls, and stochastic rounding as the remedy.

# %% [markdown]
# **What it keeps.** Your layer holds its input in fp8 until the backward pass, while a plain bf16 layer holds it in
# bf16. And what does torchao's layer hold, which you use next?

# %% tags=["given"]
import logging

for name in ("torchao", "torch.utils._pytree"):  # it reports GPU kernels that this machine cannot load
    logging.getLogger(name).setLevel(logging.ERROR)
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import AORecipeKwargs
from torch.utils.data import DataLoader
from torchao.float8 import Float8LinearConfig, convert_to_float8_training

has_fp8 = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 9)

# %%
from grader import measure_saved_tensors


def report_saved():
    inputs = torch.randn(2_048, 256, device=device, dtype=torch.bfloat16, requires_grad=True)
    plain = nn.Sequential(nn.Linear(256, 256, bias=False)).to(device, torch.bfloat16)
    config = Float8LinearConfig(emulate=not has_fp8)
    converted = convert_to_float8_training(copy.deepcopy(plain), config=config)
    master = nn.Parameter(plain[0].weight.detach().float())
    layers = {"bf16": plain, "torchao's fp8": converted, "your fp8": lambda rows: fp8_linear(rows, master)}
    for name, layer in layers.items():
        saved = measure_saved_tensors(lambda layer=layer: layer(inputs))
        print(f"{name:<14} keeps {saved.total_bytes / 1024:6.0f} KiB for backward, parameters not counted")


look(report_saved)

# %% [markdown]
# torchao keeps the input unchanged and casts it again in the backward pass: it aims at speed alone. Your layer keeps
# half of the input's bytes, and a copy of the weight. Whether that saves memory depends on the rest of the model:
# GELU, norms and attention keep 16-bit tensors whatever the layer does.

# %% [markdown]
# ## Recipes
#
# | recipe | scales | where |
# |---|---|---|
# | *delayed* | one per tensor, from the maxima of earlier steps; larger values are clamped | Ada, Hopper, later |
# | *current* (dynamic) | one per tensor, of this step; reads the tensor twice | the same |
# | *row-wise* | one per row of each operand | the same |
# | *MXFP8* | one for 32 neighbours along the sum, 8 bits of exponent (**e8m0**) | Blackwell |
# | *NVFP4* | 4-bit numbers; one in e4m3 for 16 neighbours, and one in float32 per tensor | Blackwell |
#
# An A100 or T4 supports none of them. Blocks are cut *along* the sum, which was impossible for your row scales: the
# hardware takes each block's scale out before it adds the blocks up. What does an outlier do to blocks of 32?


# %%
def scaled_by(values: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    scale = power_of_two(448 / sizes)
    return (values * scale).clamp(-448, 448).to(E4M3).float() / scale


rows = torch.randn(256, 1_024, generator=torch.Generator().manual_seed(0))
rows[0, 0] = 1e6
blocks = rows.view(256, 32, 32)
sizes = {
    "tensor": blocks.abs().amax(),
    "row": blocks.abs().amax((1, 2), True),
    "block of 32": blocks.abs().amax(2, True),
}
for name, size in sizes.items():
    error = scaled_by(blocks, size) - blocks
    error[0, 0, 0] = 0
    print(f"one scale a {name:<12} error of the rest {float(error.norm() / rows.flatten()[1:].norm()):6.2%}")

# %% [markdown]
# An outlier spoils everything that shares its scale: a tensor, a row, or 31 neighbours. Blocks are so small that
# Transformer Engine's MXFP8 recipe uses e4m3 for gradients, too. NVFP4 needs its second level of scales because an
# e4m3 scale itself cannot exceed 448.
#
# **What stays in 16 bits or more**: norms, softmax, the residual stream, and the loss. Usually the first and the last
# linear layer stay as well, because they are sensitive and a small share of the work. The sizes of a layer have to
# be multiples of 16, and so does the number of rows, over which the weight's gradient sums.

# %% [markdown]
# ## The form: torchao through Accelerate
#
# With `mixed_precision="fp8"`, Accelerate converts layers in `prepare`, and runs the rest under bf16 autocast. An
# `AORecipeKwargs` among the `kwargs_handlers` selects torchao, its `config`, and a `module_filter_func(module, name)`
# that returns whether a linear layer is converted. Without a filter, Accelerate converts all linear layers except the
# model's first and last and those whose sizes are no multiples of 16; **with one, both rules are up to you**.
#
# The **Trainer** has no argument for fp8. It takes Accelerate's setting from
# `accelerate launch --mixed_precision fp8`, or from the variable `ACCELERATE_MIXED_PRECISION`, which that command
# sets. Neither way accepts a filter or `emulate`.

# %% tags=["given"]
from grader import check_fp8_accelerate, make_pair_classifier, make_sentence_pairs, make_tokenizer, tokenize_pairs


def new_accelerator(**arguments) -> Accelerator:
    """Create an Accelerator; the reset is needed because a kernel otherwise keeps the first one's precision."""
    AcceleratorState._reset_state(reset_partial_state=True)
    return Accelerator(**arguments)


# %% [markdown]
# **Exercise.** Train a BERT classifier in fp8.
#
# *Contract.*
# - Convert to fp8 the linear layers of `bert.encoder`, which has one or more blocks, except the first linear layer of
#   the whole model. Do not convert pooler and classifier, which see one row per sequence.
# - `new_accelerator` helps to create the Accelerator, and `prepare` alone converts. torchao emulates exactly where
#   `has_fp8` is False.
# - Prepare model, optimizer and loader, and call `accelerator.backward`. Train one epoch in order, `rows` at a time;
#   the last batch may be smaller. Use plain SGD at `learning_rate`.
#
# The check looks at the layers that ran, and at the weights.


# %% exercise="fp8_with_accelerate"
def fp8_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    """Train for one epoch in fp8 with Accelerate.

    Args:
        model: On the lesson's device; returns an output with .loss.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of a batch.
        learning_rate: Learning rate of SGD.
    """

    ### BEGIN SOLUTION
    def is_converted(module, name):
        return "encoder" in name and "layer.0.attention.self.query" not in name

    recipe = AORecipeKwargs(config=Float8LinearConfig(emulate=not has_fp8), module_filter_func=is_converted)
    accelerator = new_accelerator(mixed_precision="fp8", kwargs_handlers=[recipe])
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    ### END SOLUTION


# %%
def report_layers():
    model = make_pair_classifier().to(device)
    pairs = tokenize_pairs(make_sentence_pairs(pairs=16), make_tokenizer())
    fp8_with_accelerate(model, pairs, 8, 0.05)
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            print(f"{name:<44} {type(module).__name__}")


look(report_layers)

# %% check="check_fp8_accelerate" points=2
check_fp8_accelerate(fp8_with_accelerate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: let the filter print its arguments, once. What are the names of the layers, and which one is first?<br>
# Then: how do the names of the first layers of two blocks differ?
# </details>

# %% [markdown]
# ## The price
#
# Emulated fp8 is slower than what it emulates, because it casts and then multiplies in float32.

# %%
from grader import measure_step_time


def make_step(kind: str):
    layers = [layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.GELU())]
    model, rows = nn.Sequential(*layers).to(device), torch.randn(256, 256, device=device)
    if kind != "bf16":
        model = convert_to_float8_training(model, config=Float8LinearConfig(emulate=not has_fp8))

    def step():
        with torch.autocast(device.type, torch.bfloat16):
            loss = model(rows).square().mean()
        loss.backward()

    return step


times = measure_step_time(make_step("bf16"), make_step("fp8"), run_count=5, warm_up_count=1)
print(f"measured on: {device_name()}; fp8 {'in hardware' if has_fp8 else 'emulated'}, not compiled")
for name, step, ratio in zip(("bf16", "fp8 by torchao"), times.steps, times.ratios, strict=True):
    print(f"{name:<15} {1000 * step.median_seconds:7.1f} ms a step, {ratio:.1f} times the first")

# %% [markdown]
# The next figures are published: Llama 3 8B in torchtitan, compiled, as reported in a [commit message][torchtitan]
# that does not name the GPU.
#
# | | tokens per second | memory |
# |---|---|---|
# | bf16 | 5,760 | 47.65 GiB |
# | fp8, one scale per tensor | 7,186 (1.25 times) | 47.32 GiB |
# | fp8, one scale per row | 6,424 (1.12 times) | 58.55 GiB |
#
# [torchtitan]: https://github.com/pytorch/torchtitan/commit/7a04053a742af65bc76826bbcc57b7bede7be62c

# %% [markdown]
# - **Use it when** products of matrices with thousands of rows and columns take most of the time, the GPU has fp8, and
#   the model is compiled: casts and maxima cost time that only fusion hides.
# - **Do not** use it for small layers, on older GPUs, or to save memory: torchao's layer saves none.
# - **Combine with** `torch.compile` (lesson 13), sharding (lesson 18), whose all-gather can send fp8, and bf16 for the
#   rest.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>A tensor's largest magnitude doubles, and nothing else in it changes. What does e4m3 lose?</summary>
# Nearly nothing: all values move down by one power of two. Only those below the smallest normal number lose a bit, and
# the smallest become zero.
# </details>
# <details><summary>Which scales can be taken out of a matrix product?</summary>
# Those of the rows of the first operand and of the columns of the second, because the sum does not run over these.
# </details>
# <details><summary>What is in 8 bits in fp8 training, and what is not?</summary>
# The operands of the linear layers' products are. Master weights, moments, sums, norms and losses are not.
# </details>

# %% [markdown]
# **Takeaway: fp8 is a format for operands: a scale keeps each tensor in its range, and is taken out after the
# product.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 21 keeps weights in 4 bits.

# %% [markdown]
# **Sources**
# - [Micikevicius and others, FP8 formats for deep learning][formats] (2022): e4m3 and e5m2, and what takes which.
# - [Transformer Engine, support matrix][matrix]: which GPU has which recipe. [MXFP8][mxfp8]: blocks of 32, e8m0 and
#   e4m3 gradients. [Recipes][recipes]: delayed and current scaling.
# - [NVIDIA, H100][h100]: twice the rate of 16 bits. [Intel, NVFP4][nvfp4]: blocks of 16, two levels.
# - [PyTorch, pull request 178817][saturate] (2026): casts to e4m3 saturate.
# - [torchao, quantized training][torchao] (0.18). [Accelerate, low precision][accelerate]: the recipe, and its filter.
#
# [formats]: https://arxiv.org/abs/2209.05433
# [matrix]: https://nvidia.github.io/TransformerEngine/support_matrix.html
# [mxfp8]: https://nvidia.github.io/TransformerEngine/features/low_precision_training/mxfp8/mxfp8.html
# [recipes]: https://docs.nvidia.com/deeplearning/transformer-engine/api/common.html
# [h100]: https://www.nvidia.com/en-us/data-center/h100/
# [nvfp4]: https://intel.github.io/neural-compressor/latest/docs/source/3x/PT_NVFP4Quant.html
# [saturate]: https://github.com/pytorch/pytorch/pull/178817
# [torchao]: https://docs.pytorch.org/ao/stable/workflows/training.html
# [accelerate]: https://huggingface.co/docs/accelerate/usage_guides/low_precision_training
