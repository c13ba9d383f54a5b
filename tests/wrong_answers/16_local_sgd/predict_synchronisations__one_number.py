# Source: the second question overlooked
# Only the count is returned.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    return -(-updates // every)
