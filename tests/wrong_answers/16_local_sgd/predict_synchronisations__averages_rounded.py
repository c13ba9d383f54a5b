# Source: round() in place of a division that rounds up
# The number of averages is rounded to the nearest.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return round(updates / every), is_linear and synchronisations == updates
