# Source: accumulation is something else
# Accumulated gradients are thought unequal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), is_linear and k == 1 and -(-updates // every) == updates
