# Source: a root that hears all others in one round
# One round to collect and one to tell.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2, "tree": 2 * levels, "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": others, "tree": levels, "butterfly": levels, "ring": 2 * others / world_size}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
