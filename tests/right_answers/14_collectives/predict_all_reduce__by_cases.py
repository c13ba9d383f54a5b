# Source: a chain of conditions
# One branch for each algorithm, with the logarithm of the math module.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    import math

    if algorithm == "naive":
        return 2 * world_size - 2, tensor_bytes * (world_size - 1)
    levels = math.ceil(math.log2(world_size))
    if algorithm == "tree":
        return levels + levels, levels * tensor_bytes
    if algorithm == "butterfly":
        return levels, levels * tensor_bytes
    return 2 * (world_size - 1), 2 * tensor_bytes - 2 * tensor_bytes / world_size
