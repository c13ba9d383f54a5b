# %% answer="bits_of_float64"
# Source: the bits of a float64
# The mantissa of float64 is rounded as an integer.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    import struct

    bias = 2 ** (exponent_bits - 1) - 1
    pattern = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    stored, mantissa = pattern >> 52, pattern & (2**52 - 1)
    if stored == 2047:
        return value
    cut = 52 - mantissa_bits + max(1 - bias - (stored - 1023), 0)
    whole = mantissa + 2**52 if stored else mantissa
    kept, rest = whole >> cut, whole & ((1 << cut) - 1)
    half = 1 << (cut - 1)
    kept += rest > half or (rest == half and kept & 1)
    size = kept * 2.0 ** (max(stored - 1023, 1 - bias) - mantissa_bits)
    return math.copysign(math.inf if size >= 2.0 ** (bias + 1) else size, value)


# %% answer="fractions"
# Source: exact arithmetic
# A whole number of steps is found with fractions.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    from fractions import Fraction

    if math.isnan(value) or math.isinf(value) or not value:
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exact = abs(Fraction(value))
    step = Fraction(2) ** (1 - bias - mantissa_bits)
    while exact >= step * 2 ** (mantissa_bits + 1):
        step *= 2
    whole, rest = divmod(exact, step)
    if 2 * rest > step or (2 * rest == step and whole % 2):
        whole += 1
    result = float(whole * step) if whole * step < 2 ** (bias + 1) else math.inf
    return math.copysign(result, value)


# %% answer="magic_constant"
# Source: a large constant that pushes the last bits out
# Adding and subtracting a large number rounds to even in float64.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    bias = 2 ** (exponent_bits - 1) - 1
    size = abs(value)
    if size >= 2.0 ** (bias + 1):
        return value * math.inf
    if size != size:
        return value
    power = 2.0 ** (1 - bias)
    while power * 2 <= size:
        power *= 2
    constant = 1.5 * 2.0 ** (52 - mantissa_bits) * power
    size = (size + constant) - constant
    size = math.inf if size == 2.0 ** (bias + 1) else size
    return size if value > 0 else -size


# %% answer="numpy_rint"
# Source: NumPy
# rint takes half-way to even, and spacings come from logarithms.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    import numpy as np

    if not np.isfinite(value) or value == 0.0:
        return value
    emax = 2 ** (exponent_bits - 1) - 1
    _, power = np.frexp(np.float64(value))
    scale = np.exp2(float(max(power - 1, 1 - emax) - mantissa_bits))
    rounded = np.rint(np.float64(value) / scale) * scale
    return rounded if abs(rounded) < np.exp2(emax + 1.0) else np.sign(value) * np.inf


# %% answer="torch_float64"
# Source: operations of torch, in float64
# torch.round takes half-way to even as well.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    exact = torch.tensor(value, dtype=torch.float64)
    if not exact.isfinite() or exact == 0:
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    lowest = torch.tensor(1 - bias)
    spacing = torch.ldexp(torch.ones_like(exact), torch.maximum(exact.frexp().exponent - 1, lowest) - mantissa_bits)
    rounded = (exact / spacing).round() * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return torch.where(rounded.abs() > largest, exact.sign() * torch.inf, rounded).item()
