# Source: round() in place of a division that rounds up
# The number of updates is rounded to the nearest.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = round(micro_batches / k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return synchronisations, is_linear and synchronisations == updates
