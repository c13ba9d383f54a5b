# Source: Accelerate: LocalSGD averages on exit
# A final average is always added.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return updates // every + 1, is_linear and -(-updates // every) == updates
