# Source: every = 1 is data parallel, single updates too
# The optimizer is left out, and a single update counted.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), -(-updates // every) == updates
