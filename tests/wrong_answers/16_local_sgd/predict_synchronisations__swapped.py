# Source: the order of the two parts
# The truth value is returned first.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return is_linear and -(-updates // every) == updates, -(-updates // every)
