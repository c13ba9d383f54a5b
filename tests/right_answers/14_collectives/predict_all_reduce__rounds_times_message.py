# Source: rounds, and the messages of the busiest rank
# Bytes as the number of messages times the size of one.
def predict_all_reduce(algorithm: str, world_size: int, tensor_bytes: int) -> tuple[int, float]:
    levels = len(f"{world_size - 1:b}")
    rounds = {"tree": 2 * levels, "butterfly": levels}.get(algorithm, 2 * (world_size - 1))
    messages = rounds // 2 if algorithm in ("naive", "tree") else rounds
    message_bytes = tensor_bytes / world_size if algorithm == "ring" else tensor_bytes
    return [rounds, messages * message_bytes]
