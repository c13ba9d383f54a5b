# Source: a floor division, mended where it gives 0
# The final average is counted only where it is the only one.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return max(1, updates // every), is_linear and synchronisations == updates
