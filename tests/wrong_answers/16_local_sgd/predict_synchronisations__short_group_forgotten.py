# Source: a floor division of the micro-batches
# The short last group makes no update.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-(micro_batches // k) // every), is_linear and -(-updates // every) == updates
