# Source: traffic of a network instead of a device
# All ranks together, and not the busiest one.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 2 * levels, "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": 2 * others, "tree": 2 * others, "butterfly": world_size * levels, "ring": 2 * others}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
