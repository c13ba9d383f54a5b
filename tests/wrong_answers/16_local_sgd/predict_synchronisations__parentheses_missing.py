# Source: or beside and, without parentheses
# SGD is thought equal whatever every is.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    return synchronisations, optimizer == "SGD" or optimizer == "SGD with momentum" and every == 1
