# Source: buffers differ between the ranks
# Momentum is thought unequal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), optimizer == "SGD" and -(-updates // every) == updates
