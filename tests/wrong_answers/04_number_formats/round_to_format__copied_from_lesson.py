# Source: the lesson's cell, with its format replaced by NumPy's
# The value is rounded to fp16, whatever the format.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    import numpy as np

    with np.errstate(over="ignore"):
        return float(np.float64(value).astype(np.float16))
