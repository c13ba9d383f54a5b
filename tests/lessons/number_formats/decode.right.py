# %% answer="as_text"
# Source: the digits of the pattern
# The pattern is written out and cut as a text.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    digits = format(bits, f"0{1 + exponent_bits + mantissa_bits}b")
    stored, fraction = digits[1 : 1 + exponent_bits], digits[1 + exponent_bits :]
    bias = int("1" * (exponent_bits - 1), 2)
    if "0" not in stored:
        if has_infinity and "1" not in fraction:
            return float("-inf") if digits[0] == "1" else float("inf")
        if has_infinity or "0" not in fraction:
            return float("nan")
    is_normal = "1" in stored
    power = max(int(stored, 2), 1) - bias
    value = is_normal + sum(2.0 ** -(place + 1) for place, digit in enumerate(fraction) if digit == "1")
    return (-1.0 if digits[0] == "1" else 1.0) * value * 2.0**power


# %% answer="numpy_scalars"
# Source: NumPy numbers
# The parts are NumPy integers and the value is a NumPy float.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    import numpy as np

    stored = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = np.float64(bits & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    sign = np.float64(-1) if bits >> (exponent_bits + mantissa_bits) & 1 else np.float64(1)
    bias = (1 << (exponent_bits - 1)) - 1
    if stored + 1 == 1 << exponent_bits:
        if has_infinity:
            return np.nan if fraction else sign * np.inf
        if fraction == 1 - np.exp2(-mantissa_bits):
            return np.nan
    if stored:
        return sign * (1 + fraction) * np.exp2(stored - bias)
    return sign * fraction * np.exp2(1 - bias)


# %% answer="positive_first"
# Source: the positive half, mirrored
# A negative pattern is the positive one with its sign changed.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    half = 2 ** (exponent_bits + mantissa_bits)
    if bits >= half:
        return -decode(bits - half, exponent_bits, mantissa_bits, has_infinity)
    infinity = half - 2**mantissa_bits
    if has_infinity and bits >= infinity:
        return math.inf if bits == infinity else math.nan
    if not has_infinity and bits == half - 1:
        return math.nan
    spacing = 2.0 ** (2 - 2 ** (exponent_bits - 1) - mantissa_bits)
    while bits >= 2 ** (mantissa_bits + 1):
        bits, spacing = bits - 2**mantissa_bits, 2 * spacing
    return bits * spacing


# %% answer="whole_steps"
# Source: a whole number of the smallest steps
# The mantissa with its 1 in front is an integer, and ldexp moves it into place.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    negative, magnitude = divmod(bits, 1 << (exponent_bits + mantissa_bits))
    stored, mantissa = divmod(magnitude, 1 << mantissa_bits)
    last = (1 << exponent_bits) - 1
    if stored == last and has_infinity:
        value = math.nan if mantissa else math.inf
    elif magnitude == (1 << (exponent_bits + mantissa_bits)) - 1 and not has_infinity:
        value = math.nan
    else:
        implicit = (stored > 0) << mantissa_bits
        lowest = 2 - (1 << (exponent_bits - 1)) - mantissa_bits
        value = math.ldexp(implicit + mantissa, lowest + max(stored - 1, 0))
    return -value if negative else value
