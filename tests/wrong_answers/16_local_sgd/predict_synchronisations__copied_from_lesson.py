# Source: -(-60 // every) of the lesson
# 60 updates are assumed.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-60 // every), is_linear and -(-updates // every) == updates
