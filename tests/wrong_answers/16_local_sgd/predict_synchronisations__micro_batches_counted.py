# Source: Accelerate: step() counts micro-batches
# every is taken for micro-batches.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-micro_batches // every), is_linear and -(-updates // every) == updates
