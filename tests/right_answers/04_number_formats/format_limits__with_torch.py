# Source: logarithms and powers of torch, in float64
# Tensors of one element are numbers too.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    two = torch.tensor(2.0, dtype=torch.float64)
    bias = 2 ** (exponent_bits - 1) - 1
    smallest_normal = two ** (1 - bias)
    smallest = smallest_normal * two**-mantissa_bits
    power = torch.log2(torch.tensor(number, dtype=torch.float64)).floor()
    return {
        "spacing": torch.maximum(two**power * two**-mantissa_bits, smallest),
        "smallest_subnormal": smallest,
        "smallest_normal": smallest_normal,
        "largest": 4 / smallest_normal - two ** (bias - mantissa_bits),
    }
