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
