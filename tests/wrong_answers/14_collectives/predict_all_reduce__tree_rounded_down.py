# Source: the logarithm of powers of two
# The logarithm is rounded down: five ranks like four.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 2 * (world_size.bit_length() - 1), "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": others, "tree": levels, "butterfly": levels, "ring": 2 * others / world_size}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
