# Source: one message up, log2 N down
# Rank 0 is counted with the message that the others send up.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    others, levels = world_size - 1, (world_size - 1).bit_length()
    rounds = {"naive": 2 * others, "tree": 2 * levels, "butterfly": levels, "ring": 2 * others}
    tensors = {"naive": others, "tree": levels + 1, "butterfly": levels, "ring": 2 * others / world_size}
    return rounds[algorithm], tensors[algorithm] * tensor_bytes
