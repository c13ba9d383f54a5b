# Source: a course that counts as Accelerate does
# Micro-batches are counted, and no final average.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches // every, is_linear and -(-updates // every) == updates
