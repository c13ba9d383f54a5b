# Source: True for unequal
# True and False are exchanged.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), not (is_linear and -(-updates // every) == updates)
