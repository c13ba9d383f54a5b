# Source: a floor division
# Averages are counted by a floor division, so a final one is lost.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return updates // every, is_linear and -(-updates // every) == updates
