# %% answer="by_cases"
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


# %% answer="counted"
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


# %% answer="rounds_times_message"
# Source: rounds, and the messages of the busiest rank
# Bytes as the number of messages times the size of one.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    levels = len(f"{world_size - 1:b}")
    rounds = {"tree": 2 * levels, "butterfly": levels}.get(algorithm, 2 * (world_size - 1))
    messages = rounds // 2 if algorithm in ("naive", "tree") else rounds
    message_bytes = tensor_bytes / world_size if algorithm == "ring" else tensor_bytes
    return [rounds, messages * message_bytes]
