# Source: a buffer that is empty at the first update only
# Momentum is called equal only where a run has one update.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum" if updates == 1 else "SGD")
    return synchronisations, is_linear and synchronisations == updates
