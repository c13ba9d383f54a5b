# Source: AdamW alike, single updates forgotten
# AdamW is thought linear, and a single update unequal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), (is_linear or optimizer == "AdamW") and every == 1
