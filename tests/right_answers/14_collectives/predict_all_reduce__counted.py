# Source: a loop instead of a logarithm
# The levels are counted by doubling.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    levels, reached = 0, 1
    while reached < world_size:
        levels, reached = levels + 1, 2 * reached
    ring_bytes = sum(tensor_bytes / world_size for _ in range(2 * (world_size - 1)))
    costs = {
        "naive": (2 * (world_size - 1), (world_size - 1) * tensor_bytes),
        "tree": (2 * levels, levels * tensor_bytes),
    }
    costs |= {"butterfly": (levels, levels * tensor_bytes), "ring": (2 * (world_size - 1), ring_bytes)}
    return costs[algorithm]
