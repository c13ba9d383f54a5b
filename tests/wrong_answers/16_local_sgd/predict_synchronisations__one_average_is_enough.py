# Source: an average at the end taken for enough, for any optimizer
# A run with one average is called equal, whatever the step.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    return synchronisations, every == 1 or updates <= every
