# %% [markdown]
# # 4. Number formats
#
# You read every number format used in training bit by bit, and you predict where it loses values.
#
# 55 min (estimated) · CPU is enough · after lesson 03

# %% [markdown] objectives="1; 2; 3"
# **You will be able to**
# - predict the range and the spacing of a format from its numbers of bits;
# - decode any bit pattern, subnormals and special values included;
# - round a value to any format, as the hardware does.

# %% tags=["given"]
import math

import torch

from grader import check_format_limits, device_name, lesson_device, look

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>What does gradient checkpointing trade?</summary>
# It saves memory at the price of computation: activations are dropped, and a second forward pass rebuilds them.
# </details>
# <details><summary>AdamW keeps two moments for each parameter. How many bytes are that in fp32?</summary>
# Eight: two numbers of 4 bytes.
# </details>

# %% [markdown]
# **The problem.** You add 0.01 a thousand times, in three formats. Before you run the cell: how far from 10 does each
# sum end?


# %%
def add_up(dtype: torch.dtype, count: int = 1000) -> list[float]:
    """Add 0.01 again and again; return the total after each addition."""
    total, value, totals = torch.zeros((), dtype=dtype), torch.tensor(0.01, dtype=dtype), []
    for _ in range(count):
        total = total + value
        totals.append(total.item())
    return totals


totals = {"fp32": add_up(torch.float32), "fp16": add_up(torch.float16), "bf16": add_up(torch.bfloat16)}
for name, reached in totals.items():
    print(f"{name}: {reached[-1]:.6g}")

# %% [markdown]
# In bf16 the sum is 4, without an error, a warning or a NaN. A weight of a network is also such a sum, of thousands of
# small updates. At which total does a sum stop growing, and how can you know it before the run?

# %% [markdown]
# ## Three parts of a number
#
# | format | sign bits | exponent bits | mantissa bits |
# |---|---|---|---|
# | fp32 | 1 | 8 | 23 |
# | tf32 | 1 | 8 | 10 |
# | fp16 | 1 | 5 | 10 |
# | bf16 | 1 | 8 | 7 |
# | fp8 e5m2 | 1 | 5 | 2 |
# | fp8 e4m3 | 1 | 4 | 3 |
#
# The *mantissa* is read as a fraction `f`, from 0 to just below 1. The *exponent* is stored as an integer `E`, from 0
# up. A **bias** is subtracted from it, so that powers of two below 1 can be stored, too: 15 for 5 exponent bits, which
# is `2**4 - 1`, and 127 for 8, which is `2**7 - 1`.
#
# In words: *a number is its sign, times 1 plus the fraction, times 2 to the power of the stored exponent minus the
# bias.*

# %% [markdown]
# Two stored exponents are special.
#
# - An `E` of all ones represents no number: with mantissa 0 it is infinity, with any other mantissa it is NaN.
# - With `E = 0` there is no 1 in front of the fraction. These are the **subnormal** numbers, and 0 is one of them.
#   Their power of two is that of `E = 1`.
#
# The following table lists all positive numbers of a format with 2 exponent bits and 1 mantissa bit. Its bias is
# `2**1 - 1`, which is 1.
#
# | E | mantissa 0 | mantissa 1 |
# |---|---|---|
# | 0 | 0 | 0.5 |
# | 1 | 1 | 1.5 |
# | 2 | 2 | 3 |
# | 3 | infinity | NaN |
#
# Derive each of the eight from the two rules before you go on.

# %% [markdown]
# ## Predict: range and spacing
#
# In the small format the largest number is 3, the smallest *normal* number is 1, and the smallest subnormal number is
# 0.5. The **spacing** is the step from one number to the next. It is 0.5 below 2, and 1 from 2 on. Each power of two
# doubles it, except among the subnormals, which have the spacing of the smallest normal numbers.
#
# **Exercise.** Predict the limits of any format.
#
# *Contract.*
# - Return a dict with the four limits that the docstring lists.
# - The top exponent is reserved for infinities and NaN.
# - `number` may be anywhere within the range, also among the subnormals.
#
# The check uses formats that this lesson does not show.


# %% exercise="format_limits"
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    """Compute the range of a format, and its spacing at a number.

    Args:
        exponent_bits: Bits of the exponent.
        mantissa_bits: Bits of the mantissa.
        number: A positive number within the range of the format.

    Returns:
        "largest": the largest finite number;
        "smallest_normal": the smallest positive number with a 1 in front of its fraction;
        "smallest_subnormal": the smallest positive number;
        "spacing": the step between the neighbours around `number`; at a number of the format, the step upwards.
    """
    ### BEGIN SOLUTION
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(number)[1] - 1, 1 - bias)  # number = fraction * 2**n, with a fraction from 0.5 to 1
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (exponent - mantissa_bits),
    }
    ### END SOLUTION


# %%
look(format_limits, 2, 1, 1.7)

# %% check="check_format_limits" points=3
check_format_limits(format_limits)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: in the small format, which E and which mantissa belong to 3, to 1, and to 0.5?<br>
# Then: from one power of two to the next there are as many steps as there are mantissas. Which is the last power of
# two at or below the number, and below which one do the steps stop getting smaller?
# </details>

# %% [markdown]
# **Run.** `torch.finfo` knows the limits of the formats that PyTorch supports. Its `eps` is the spacing at 1.

# %%
from grader import draw_spans

dtypes = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "e5m2": torch.float8_e5m2}
bit_counts = {"fp32": (8, 23), "fp16": (5, 10), "bf16": (8, 7), "e5m2": (5, 2)}
predicted = look(lambda: {name: format_limits(*counts, 1.0) for name, counts in bit_counts.items()}) or {}
for name, dtype in dtypes.items():
    info, mine = torch.finfo(dtype), predicted.get(name)
    ratios = f"   predicted / torch: {mine['largest'] / info.max:.6f}, {mine['spacing'] / info.eps:.6f}" if mine else ""
    print(f"{name}: largest {info.max:.5g}, spacing at 1 {info.eps:.3g}{ratios}")

# %%
infos = {name: torch.finfo(dtype) for name, dtype in (dtypes | {"e4m3": torch.float8_e4m3fn}).items()}
spans = {
    name: {
        "subnormal": (info.smallest_normal * info.eps, info.smallest_normal),
        "normal": (info.smallest_normal, info.max),
    }
    for name, info in infos.items()
}
tf32 = {"subnormal": (2.0**-136, 2.0**-126), "normal": (2.0**-126, (2 - 2.0**-10) * 2.0**127)}
spans = {"fp32": spans["fp32"], "tf32": tf32, **spans}
draw_spans(spans, title="Which positive numbers a format reaches", x_label="absolute value")

# %% [markdown]
# **Investigate.** The formats form groups. With 8 exponent bits, normal numbers reach from 1e-38 to 3e38; with 5, from
# 6e-5 to about 6e4. With 4, e4m3 has the narrowest range. So **exponent bits are range**.
#
# The figure does not show how fine a format is, but `eps` does: 1.2e-7 for fp32, 0.00098 for fp16, 0.0078 for bf16. So
# **mantissa bits are precision**: bf16 has the range of fp32, but only between two and three decimal digits.
#
# Subnormals extend a range downwards at the price of precision: the smallest one has a single bit left.

# %% [markdown]
# **Names.** *fp32* is also called single precision, float32 or binary32, *fp16* half precision or float16, and *bf16*
# bfloat16 or brain floating point. The *mantissa* is also called significand or fraction. The spacing at a number is
# its *ulp*, unit in the last place. `eps` is the *machine epsilon*. *tf32* is TensorFloat-32.
#
# **Two exceptions.**
#
# - *e4m3* has no infinity. Its top exponent represents numbers, except for one mantissa, which is NaN. Its largest
#   number is therefore 448, where the rule gives 240. PyTorch calls it `float8_e4m3fn`, with *fn* for finite.
# - *tf32* is not a dtype. It uses 19 bits, but its tensors are stored as fp32, in 4 bytes per number.

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn):
    print(f"{dtype!s:<22} {dtype.itemsize} bytes a number, {64 // dtype.itemsize:>2} numbers in 64 bytes")

# %% [markdown]
# **Modify.** Change `start` in the next cell. Before you run it: what is the smallest power of two at which adding 1
# changes nothing in bf16? And in fp16?

# %%
start = 128.0
for dtype in (torch.bfloat16, torch.float16):
    print(dtype, (torch.tensor(start, dtype=dtype) + 1).item() - start)

# %% [markdown]
# <details><summary>Answer</summary>
# 256 in bf16, where the spacing becomes 2, and 2048 in fp16. A counter in bf16 stops at 256.
# </details>
# <details><summary>Explain in one sentence: why does bf16 hold values that are too large for fp16?</summary>
# It spends three more bits on the exponent, which determines the range, and three fewer on the mantissa.
# </details>

# %% [markdown]
# ## Complete: the decoder
#
# Now look at the bits themselves. As a worked example: what does fp16 store for 0.1?

# %% tags=["given"]
from grader import check_decoded_patterns

# %%
pattern = torch.tensor(0.1, dtype=torch.float16).view(torch.int16).item()  # the same 16 bits, read as an integer
text = f"{pattern:016b}"
stored_exponent, stored_mantissa = int(text[1:6], 2), int(text[6:], 2)
print(f"sign {text[0]}, exponent {text[1:6]} = {stored_exponent}, mantissa {text[6:]} = {stored_mantissa}")
number = (1 + stored_mantissa / 1024) * 2.0 ** (stored_exponent - 15)
print(f"(1 + {stored_mantissa} / 1024) * 2**({stored_exponent} - 15) = {number}")

# %% [markdown]
# fp16 cannot represent 0.1. Its nearest number is 0.0999756.
#
# **Exercise.** Complete the decoder. The code that extracts the parts is given.
#
# *Contract.*
# - If `has_infinity` is true, the two rules for special exponents apply.
# - If it is false, as in e4m3, the top exponent represents numbers, and only the pattern with all ones in exponent and
#   mantissa is NaN. Exponent 0 is decoded in the same way in both cases.
# - The pattern of the sign bit alone is -0.0.
# - Write it by hand, without PyTorch's own formats.
#
# The check compares **every** bit pattern of fp16, bf16, e5m2 and e4m3 with PyTorch, and tests those of two other
# formats.


# %% exercise="decode"
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    """Decode a bit pattern by hand.

    Args:
        bits: The pattern as an integer: sign bit, exponent, mantissa, from the left.
        exponent_bits: Bits of the exponent.
        mantissa_bits: Bits of the mantissa.
        has_infinity: Whether the top exponent represents infinities and NaN.

    Returns:
        The number, an infinity, or NaN.
    """
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = (bits >> mantissa_bits) % 2**exponent_bits
    mantissa = bits % 2**mantissa_bits
    is_top = exponent == 2**exponent_bits - 1
    ### BEGIN SOLUTION
    bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
        return sign * math.inf if has_infinity and mantissa == 0 else math.nan
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)
    ### END SOLUTION


# %%
def show_patterns():
    for bits in (0b0_01011_1001100110, 0b0_00000_0000000001, 0b0_11110_1111111111, 0b1_11111_0000000000):
        print(f"{bits:016b} in fp16: {decode(bits, 5, 10, True)}")


look(show_patterns)

# %% check="check_decoded_patterns" points=3
check_decoded_patterns(decode)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: sort the patterns by their exponent: zero, top, and all others. The last group is the worked example.<br>
# Then: for exponent 0, decide two things: is there a 1 in front, and which power of two applies? For the top exponent,
# look at `has_infinity` first, and then at the mantissa.
# </details>

# %% [markdown]
# **Modify.** Take `0b0_1111_110` in e4m3. Before you run the cell: which number is it, without and with infinity?


# %%
def show_both_rules():
    for has_infinity in (False, True):
        print(f"0 1111 110, has_infinity={has_infinity}: {decode(0b0_1111_110, 4, 3, has_infinity)}")


look(show_both_rules)

# %% [markdown]
# <details><summary>Explain in one sentence: what does e4m3 gain by having no infinity?</summary>
# Seven more numbers of each sign at the top, from 256 to 448, so its range is almost twice the 240 of the rule.
# </details>

# %% [markdown]
# ## Write: rounding to even
#
# Every operation computes a result and then **rounds** it to a number of its format. The rule is the same in all
# formats: take the nearest number or, half-way between two, the one whose mantissa is **even**. Errors in both
# directions then balance over many operations, while rounding every half up would push sums upwards.
#
# Before you run the cell, predict each line.

# %% tags=["given"]
from grader import check_rounded_values

# %%
shown = {"2049": 2049.0, "2051": 2051.0, "1 + 2**-11": 1 + 2.0**-11, "65519": 65519.0, "65520": 65520.0}
shown |= {"2**-24": 2.0**-24, "2**-25": 2.0**-25, "just above 2**-25": 2.0**-25 * 1.001}
for name, value in shown.items():
    print(f"{name:<18} in fp16: {torch.tensor(value).to(torch.float16).item()}")
print(f"1 + 2**-8          in bf16: {torch.tensor(1 + 2.0**-8).to(torch.bfloat16).item()}")

# %% [markdown]
# - 2049 and 2051 are half-way, because the spacing is 2 there. One is rounded down, the other up.
# - `1 + 2**-11` is half-way between 1 and the next number. It is rounded to 1, and so is `1 + 2**-8` in bf16.
# - 65504 is the largest number, and 65519 is rounded to it. 65520 is half-way to 65536, which would be the next
#   number. It is rounded up, out of the range, to infinity: **overflow**.
# - `2**-24` is the smallest subnormal. `2**-25` is half-way between it and 0 and becomes 0: **underflow**.

# %% [markdown]
# **Exercise.** Write this rounding for any format with infinities.
#
# *Contract.*
# - Return a number of the format as a float; subnormals are numbers, too.
# - Round as if the exponent had no upper limit, then replace any result above the largest number by infinity of the
#   same sign.
# - Infinity stays infinity, and NaN stays NaN. The sign of a zero does not matter.
# - Write it by hand, without PyTorch's own formats, in Python's floats: an intermediate result in fp32 would round
#   twice.
#
# The check uses fp16, bf16, e5m2, and formats that PyTorch lacks, such as 1-6-9: 6 exponent bits, 9 mantissa bits.


# %% exercise="round_to_format"
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    """Round a value to a format by hand: to the nearest number, and half-way values to the even mantissa.

    Args:
        value: Any float, infinities and NaN included.
        exponent_bits: Bits of the exponent; the top exponent represents infinities and NaN.
        mantissa_bits: Bits of the mantissa.

    Returns:
        The rounded value.
    """
    ### BEGIN SOLUTION
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)  # value = fraction * 2**n, with a fraction from 0.5 to 1
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
    ### END SOLUTION


# %%
def show_rounded(exponent_bits, mantissa_bits):
    for name, value in shown.items():
        print(f"{name:<18} {round_to_format(value, exponent_bits, mantissa_bits)}")


look(show_rounded, 5, 10)

# %% check="check_rounded_values" points=4
check_rounded_values(round_to_format)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: rounding to whole numbers is easy. What do you divide by, so that the numbers of the format around the value
# become whole numbers?<br>
# Then: the divisor is the spacing of your first exercise. What does Python's `round(2.5)` return? Treat the two ends
# of the range last.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: gradients below 2**-25 become 0 in fp16. Is that a lack of precision or of
# range?</summary> Of range: bf16 has less precision, and yet it keeps them.
# </details>
#
# **Modify.** In the last line above the check, change 5 and 10 to the numbers of bits of bf16. Before you run it:
# which results come closer to their value, and which move away?
#
# <details><summary>Answer</summary>
# Range brings results closer: 65520 becomes 65536 instead of infinity, and the two values near 2**-25 are kept.
# Precision moves results away: 2051 becomes 2048, and 65519 becomes 65536.
# </details>

# %% [markdown]
# ## Sums that stop growing
#
# Back to the problem at the start: each addition rounds its result. The figure shows the total after each number of
# additions.

# %%
from grader import draw_curves

places = list(range(100, 1001, 100))
curves = {name: [reached[place - 1] for place in places] for name, reached in totals.items()}
draw_curves(places, curves, title="Sum of so many times 0.01", x_label="additions", y_label="total")

# %% [markdown]
# In bf16 the spacing at 4 is 2**-5, which is 0.03125. The value 0.01 is less than half of that, so the number nearest
# to 4 + 0.01 is 4, and the sum stays there for ever. In words: *a sum stops where the value is less than half of the
# spacing at the total.*
#
# fp16 has three more mantissa bits, so its sum stops later. Before you run the cell: at which total?

# %%
print(f"fp16 after 10,000 additions: {add_up(torch.float16, 10_000)[-1]}")
values = torch.full((1000,), 0.01)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    print(f"torch's own sum of 1,000 values in {dtype}: {values.to(dtype).sum().item()}")

# %% [markdown]
# At 32, where the spacing of fp16 is 2**-5.
#
# For fp16 and bf16, PyTorch's `sum` accumulates in fp32 and rounds only once, at the end, so the result is right to
# the last bit of these formats. Your own loop over 16-bit tensors rounds at each addition.
#
# Matrix products of 16-bit factors accumulate in fp32, in an **accumulator**, with one exception that is on by
# default: on CUDA, a product that is split among several blocks may round its **partial sums** to 16 bits and add them
# in 16 bits. The next cell shows the switches. Set them to `False` where sums are long and errors matter.

# %%
switches = torch.backends.cuda.matmul
print(f"partial sums in fp16 allowed: {switches.allow_fp16_reduced_precision_reduction}")
print(f"partial sums in bf16 allowed: {switches.allow_bf16_reduced_precision_reduction}")

# %% [markdown]
# A weight is a sum, too: your optimizer adds one update after the other. The spacing of bf16 is `2**-7` above 1 and
# `2**-8` below 1. A weight of 1 therefore ignores, for ever, every update of up to `2**-8` upwards and up to `2**-9`
# downwards. That is why training keeps fp32 *master weights* (lesson 05).

# %% [markdown]
# ## Which format for which tensor
#
# Measure before you choose. The next cells train a small language model for 20 steps in fp32 and show how large the
# values of each kind of tensor are.

# %%
from grader import make_token_batch, make_transformer

language_model = make_transformer(2, 64, 4, vocabulary=100, context=32).to(device)
optimizer = torch.optim.AdamW(language_model.parameters(), lr=1e-3)
activations = []
for block in language_model.blocks:
    block.register_forward_hook(lambda module, inputs, output: activations.append(output.detach()))

for step in range(20):
    activations.clear()
    tokens, targets = make_token_batch(16, 32, 100, seed=step, device=device)  # [batch, time]
    logits = language_model(tokens)  # [batch, time, vocabulary]
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    optimizer.step()


# %%
def flat(tensors) -> torch.Tensor:
    """Return all nonzero values of some tensors as one vector."""
    vector = torch.cat([tensor.detach().flatten() for tensor in tensors])
    return vector[vector != 0]


parameters = list(language_model.parameters())
kinds = {"weights": flat(parameters), "activations": flat(activations)}
kinds["gradients"] = flat(parameter.grad for parameter in parameters)
kinds["second moments"] = flat(optimizer.state[parameter]["exp_avg_sq"] for parameter in parameters)
print("absolute values   smallest    largest   zero in fp16, subnormal in fp16")
for name, values in kinds.items():
    sizes, half = values.abs(), values.half().abs()
    gone, subnormal = (half == 0).float().mean(), ((half > 0) & (half < 2.0**-14)).float().mean()
    print(f"{name:<15} {sizes.min():>10.1e} {sizes.max():>10.1e} {gone:>15.1%} {subnormal:>19.1%}")

# %% [markdown]
# Nearly all weights and activations are normal numbers in fp16. Gradients reach far down: fp16 keeps about a fifth of
# them as subnormals, with fewer bits. The second moments are squares of gradients, so their exponents are twice as
# low: in fp16 half of them are 0 and the rest subnormal. AdamW divides by their root.

# %% [markdown]
# | tensor | what it needs | usual format |
# |---|---|---|
# | weights and activations in a product | few digits | bf16; fp16; fp8 with a scale for each tensor |
# | gradients of activations | range | bf16; fp16 with loss scaling, lesson 05 |
# | gradients of weights | range, and digits where they add up | fp32 with autocast; bf16 if the weights are bf16 |
# | master weights | digits, for small updates | fp32 |
# | optimizer state | range and digits | fp32; 8 bits with a scale for each block, lesson 08 |
# | sums, norms, the loss | digits | fp32 |

# %% [markdown]
# **The switch for tf32.** A product of fp32 matrices may round its *factors* to tf32 and accumulate in fp32. Memory
# stays the same. tf32 exists on NVIDIA GPUs from Ampere on; a V100 or T4 ignores the switch.
#
# | in torch 2.13 | acts on |
# |---|---|
# | `torch.set_float32_matmul_precision("high")` | matrix products |
# | `torch.backends.cuda.matmul.fp32_precision = "tf32"` | matrix products on CUDA |
# | `torch.backends.cudnn.conv.fp32_precision = "tf32"` | convolutions; on by default |
#
# `"highest"` and `"ieee"` turn it off. Older code sets `allow_tf32` for each backend. Use either the old names or the
# new ones, not both. The Trainer has `tf32=True`. Accelerate and the Trainer have no form for a format as such; lesson
# 05 shows how both choose the format of each operation.

# %%
print(f"matrix products of fp32 tensors: {torch.get_float32_matmul_precision()}")
look(
    lambda: print(f"1/3 as a factor in tf32: {round_to_format(1 / 3, 8, 10)}, in fp32: {round_to_format(1 / 3, 8, 23)}")
)

# %% [markdown]
# ## The price
#
# Half the bytes mean half the memory traffic, on every device. Whether the arithmetic is also faster depends on the
# device. Before you run the cell: is a product of 16-bit matrices faster here? The two 16-bit formats may differ.

# %%
from grader import measure_step_time

wide = torch.randn(256, 256, device=device)  # [rows, columns]
brain, half = wide.bfloat16(), wide.half()


def in_fp32():
    wide @ wide


def in_bf16():
    brain @ brain


def in_fp16():
    half @ half


print(f"bytes of a matrix: fp32 {wide.nbytes:,}, bf16 {brain.nbytes:,}, fp16 {half.nbytes:,}")
print(measure_step_time(in_fp32, in_bf16, in_fp16, run_count=5))

# %% [markdown]
# On a CPU the 16-bit product can be slower, because without units for a format every factor is converted first. A CPU
# may have units for bf16 but none for fp16. An A100 has units for both:
#
# | A100, dense matrix products | 10**12 FLOP/s |
# |---|---|
# | fp32 | 19.5 |
# | tf32 | 156 |
# | fp16, bf16 | 312 |
#
# Its matrix units work on blocks. The sizes of a layer should therefore be multiples of **8** in fp16 and bf16, which
# are 16 bytes. On an A100 multiples of **64**, which are 128 bytes, are better. In tf32 these are 4 and 32 numbers. A
# vocabulary of 50,257 is often padded to 50,304, a multiple of 64.

# %% [markdown]
# - *Use bf16 when* the hardware has it: it keeps the range of fp32, and halves memory and traffic.
# - *Do not use a 16-bit format when* a value is a long sum of small parts: weights, moments, losses, running means.
# - *Combine with* fp32 master weights and loss scaling (lesson 05), or with scales for each block (lessons 08 and 20).

# %% [markdown] tags=["further"]
# ## Further: a sum that does not stall
#
# fp32 master weights take 4 bytes per parameter. A cheaper remedy keeps what each addition **lost**, in the same
# narrow format, and adds it the next time. It is called *compensated summation* or Kahan summation, and optimizers use
# it to train weights in pure bf16.
#
# One addition in bf16 shows the loss:

# %% tags=["given"]
from grader import check_compensated_sum

# %%
total, value = torch.tensor(4.0, dtype=torch.bfloat16), torch.tensor(0.01, dtype=torch.bfloat16)
added = (total + value) - total
print(f"wanted to add {value.item():.6f}, added {added.item()}, lost {(value - added).item():.6f}")
print(f"with an fp32 accumulator: {(total.float() + value.float()).item():.6f}, which takes 4 bytes")

# %% [markdown]
# **Exercise.** Write one compensated addition.
#
# *Contract.*
# - All tensors, and both results, have the same shape and the same format, fp16 or bf16.
# - `lost` is what `total` lacks so far, so that `total + lost` is the better sum; at first it is 0.
# - Return the new total and what it lacks now.
#
# The check looks at the result of hundreds of additions in fp16 and bf16. The total has to be within one spacing of
# the exact sum, and total plus lost within 0.3 spacings.


# %% exercise="add_compensated"
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Add a value to a total, and keep what is lost in the narrow format.

    Args:
        total: Totals [count] in fp16 or bf16.
        lost: What the totals lack so far, in the same format.
        value: Values to add, in the same format.

    Returns:
        The new total and what it lacks, in the same format.
    """
    ### BEGIN SOLUTION
    wanted = value + lost
    new_total = total + wanted
    return new_total, wanted - (new_total - total)
    ### END SOLUTION


# %%
def add_up_compensated(dtype: torch.dtype) -> float:
    """Add 0.01 a thousand times with compensated summation."""
    total, lost, value = torch.zeros((), dtype=dtype), torch.zeros((), dtype=dtype), torch.tensor(0.01, dtype=dtype)
    for _ in range(1000):
        total, lost = add_compensated(total, lost, value)
    return total.item()


look(lambda: print(*(f"{dtype}: {add_up_compensated(dtype)}" for dtype in (torch.float16, torch.bfloat16)), sep="\n"))

# %% check="check_compensated_sum" points=2
check_compensated_sum(add_compensated)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: there are two additions. What do you want to add now, given what was lost before?<br>
# Then: what was really added is the difference of two totals. Keep the old total until you have computed it.
# </details>

# %% [markdown]
# The bf16 total of 0.01 is 10.0 here, and the exact sum is 10.0098, because 0.01 in bf16 is 0.0100098. A total of 2
# bytes and a `lost` of 2 bytes do the work of 4 bytes, while the products stay in bf16.

# %% [markdown]
# ## Further: a second moment that does not decay
#
# To halve AdamW's state, you could store its moments in 16 bits. Each update would then compute the second moment as
# `v = beta2 * v + (1 - beta2) * gradient**2` and round it. Suppose that one bad batch makes `v` large, and that the
# gradients after it are small. In fp32, `v` decays by the factor `beta2` at each update. And in bf16?

# %%
for beta2 in (0.9, 0.95, 0.999):
    moment, updates = torch.tensor(1.9, dtype=torch.bfloat16), 0
    while (moment * beta2).item() != moment.item() and updates < 50:
        moment, updates = moment * beta2, updates + 1
    print(f"beta2 {beta2}: from 1.9, after {updates} updates without a gradient: {moment.item():.4g}")

# %% [markdown]
# With AdamW's default of 0.999 the moment never moves, whatever its size. AdamW divides by its root, so the updates of
# this weight stay too small for the rest of the training, and nothing reports it.
#
# **Exercise.** Decide, before a run, what happens to such a moment in a given format.
#
# *Contract.* The gradient is 0 from now on, each product is rounded to even, and exponents have no limits. Return
# - `"frozen"` if no number changes;
# - `"stalls"` if some numbers fall, but come to rest at a number above 0;
# - `"decays"` if every number falls, again and again.
#
# In the check, `1 - beta2` is at least 5 % away from every threshold between two answers.

# %% tags=["given"]
from grader import check_moment_fate


# %% exercise="fate_of_moment"
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    """Decide what happens to a second moment that is stored in a narrow format once its gradient is 0.

    Args:
        beta2: Factor of the moment at each update, below 1.
        mantissa_bits: Stored bits of the mantissa, from 5 to 10.

    Returns:
        "frozen", "stalls" or "decays".
    """
    ### BEGIN SOLUTION
    lost = 1 - beta2  # of a number 1, in one update; just below 2 it is twice as much
    half_spacing = 2.0 ** -(mantissa_bits + 1)  # from 1 up to 2
    if 2 * lost <= half_spacing:
        return "frozen"
    return "stalls" if lost < half_spacing else "decays"
    ### END SOLUTION


# %%
look(lambda: print({beta2: fate_of_moment(beta2, 7) for beta2 in (0.9, 0.95, 0.997, 0.999)}))

# %% check="check_moment_fate" points=1
check_moment_fate(fate_of_moment)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for which losses does a number round back to itself?<br>
# Then: between 1 and 2 the spacing is constant, but the loss is not. Where is the loss smallest, and where largest?
# All other powers of two behave alike.
# </details>

# %% [markdown]
# ## Further: stochastic rounding
#
# This remedy takes no extra memory: it rounds up **at random**. Between 1 and 2, the value 1.25 becomes 2 in a quarter
# of all cases. The mean is therefore right, and a sum of many small parts moves.
#
# **Exercise.** Round to bf16 in this way.
#
# *Contract.*
# - Of the two bf16 numbers around a value, one is nearer to zero. The *share* is the distance of the value from that
#   one, divided by the spacing between the two.
# - Where `noise < share`, return the number farther from zero, otherwise the nearer one. A value that is a bf16 number
#   stays unchanged.
# - Values are finite and normal, or 0. Do not change `values`.

# %% tags=["given"]
from grader import check_stochastic_rounding


# %% exercise="round_stochastically"
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Round to bf16 with the help of random numbers.

    Args:
        values: Values in fp32, of any shape.
        noise: A random number from 0 to just below 1 for each value, in fp32.

    Returns:
        The rounded values, in bf16.
    """
    ### BEGIN SOLUTION
    exponent = torch.frexp(values).exponent - 1  # values = fraction * 2**n, with a fraction from 0.5 to 1
    steps = torch.ldexp(values.abs().double(), 7 - exponent)  # in spacings of bf16
    rounded = steps.floor() + (noise < steps.frac())
    return (values.sign() * torch.ldexp(rounded, exponent - 7)).bfloat16()
    ### END SOLUTION


# %%
def decay(count: int = 1000, updates: int = 2000, beta2: float = 0.999) -> None:
    """Let second moments of 1 decay: in fp32, and in bf16 with both kinds of rounding."""
    generator = torch.Generator().manual_seed(0)
    exact, stochastic = torch.ones(count), torch.ones(count, dtype=torch.bfloat16)
    nearest = stochastic.clone()
    for _ in range(updates):
        exact, nearest = exact * beta2, nearest * beta2
        stochastic = round_stochastically(stochastic.float() * beta2, torch.rand(count, generator=generator))
    for name, values in {"fp32": exact, "bf16, nearest": nearest, "bf16, stochastic": stochastic}.items():
        print(f"{name:<17} mean {values.float().mean():.4f}, standard deviation {values.float().std():.4f}")


look(decay)

# %% check="check_stochastic_rounding" points=2
check_stochastic_rounding(round_stochastically)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: divide by the spacing of bf16 at the value, as in your rounding to even. What remains after the decimal
# point?<br>
# Then, another way: bf16 is the upper half of fp32's bits. What do the lower 16 bits show about the share?
# </details>

# %% [markdown]
# The mean follows fp32, while single moments scatter around it. torchao's optimizers offer stochastic rounding for
# weights that are trained in pure bf16.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Which bits determine the range, and which the precision?</summary>
# Exponent bits determine the range, mantissa bits the precision.
# </details>
# <details><summary>What do 65519 and 65520 become in fp16, and why?</summary>
# 65504 and infinity: 65520 is half-way to a number that fp16 does not have, and is rounded up.
# </details>
# <details><summary>When does a sum stop growing?</summary>
# When what you add is less than half of the spacing at the total.
# </details>
#
# **Takeaway: exponent bits buy range, mantissa bits buy digits, and a sum needs more digits than its terms.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 05, mixed precision.

# %% [markdown]
# **Sources**
# - [IEEE 754][ieee]: formats, subnormals, rounding to even.
# - [torchao, low-bit optimizers][torchao]: bf16 weights with stochastic rounding.
# - [FP8 formats for deep learning][fp8]: e4m3 without infinity, 448, and e5m2.
# - [Mixed precision training][mixed]: gradients that vanish in fp16, master weights.
# - [DLFloat][dlfloat]: the format 1-6-9.
# - [PyTorch, numerical accuracy][accuracy] and [CUDA semantics][cuda]: sums in fp32, reduced-precision reductions,
#   tf32 and its switches.
# - [NVIDIA, A100 data sheet][a100]: the rates. [NVIDIA, matrix multiplication guide][guide]: multiples of 8 and 64.
# - [nanoGPT][nanogpt]: a vocabulary of 50,304.
# - W. Kahan, Further remarks on reducing truncation errors, 1965.
#
# [nanogpt]: https://github.com/karpathy/nanoGPT/blob/master/model.py
# [ieee]: https://doi.org/10.1109/IEEESTD.2019.8766229
# [torchao]: https://github.com/pytorch/ao/tree/main/torchao/optim
# [fp8]: https://arxiv.org/abs/2209.05433
# [mixed]: https://arxiv.org/abs/1710.03740
# [dlfloat]: https://doi.org/10.1109/ARITH.2019.00023
# [accuracy]: https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
# [cuda]: https://docs.pytorch.org/docs/stable/notes/cuda.html
# [a100]: https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet.pdf
# [guide]: https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
