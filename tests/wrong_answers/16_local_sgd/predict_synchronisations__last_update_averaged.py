# Source: equal ranks taken for equal weights
# The run is thought equal where an average follows its last update.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return synchronisations, is_linear and updates % every == 0
