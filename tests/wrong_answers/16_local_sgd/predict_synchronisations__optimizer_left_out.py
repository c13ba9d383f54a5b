# Source: every = 1 is data parallel, says everyone
# The optimizer is left out.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), every == 1
