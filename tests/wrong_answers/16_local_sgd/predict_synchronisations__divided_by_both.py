# Source: true divisions
# Neither updates nor averages are whole numbers.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches / k / every, is_linear and -(-updates // every) == updates
