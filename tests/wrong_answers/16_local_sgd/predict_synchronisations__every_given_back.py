# Source: a misread question
# The distance between two averages is returned.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return every, is_linear and -(-updates // every) == updates
