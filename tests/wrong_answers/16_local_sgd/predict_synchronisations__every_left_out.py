# Source: k and every left out
# Each micro-batch synchronises.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches, is_linear and -(-updates // every) == updates
