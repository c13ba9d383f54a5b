# Source: an average after the last update taken for an average after every update
# A run with one average, at its end, is called equal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return synchronisations, is_linear and (every == 1 or updates <= every)
