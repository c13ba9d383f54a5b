# Source: buffers differ, and single updates forgotten
# Only SGD with every = 1 is thought equal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), optimizer == "SGD" and every == 1
