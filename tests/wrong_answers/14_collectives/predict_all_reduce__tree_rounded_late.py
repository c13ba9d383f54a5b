# Source: math.ceil(2 * math.log2(n))
# The logarithm is doubled first and rounded afterwards.
import math


def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {
        "naive": 2 * others,
        "tree": math.ceil(2 * math.log2(world_size)),
        "butterfly": levels,
        "ring": 2 * others,
    }
    tensors = {"naive": others, "tree": levels, "butterfly": levels, "ring": 2 * others / world_size}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
