# Source: whole bytes
# A chunk is rounded down to whole bytes.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 2 * levels, "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": others, "tree": levels, "butterfly": levels, "ring": 0}
    if algorithm == "ring":
        return rounds["ring"], 2 * others * (tensor_bytes // world_size)
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
