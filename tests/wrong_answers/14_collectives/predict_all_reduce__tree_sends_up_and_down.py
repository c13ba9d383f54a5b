# Source: a rank in the middle of the tree
# One tensor up, and one down.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 2 * levels, "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": others, "tree": 2, "butterfly": levels, "ring": 2 * others / world_size}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
