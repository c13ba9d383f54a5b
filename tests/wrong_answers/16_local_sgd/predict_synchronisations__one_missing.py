# Source: an index from 0
# One average is missing in each run.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every) - 1, is_linear and -(-updates // every) == updates
