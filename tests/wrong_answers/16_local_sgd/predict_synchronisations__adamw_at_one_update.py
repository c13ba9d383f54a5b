# Source: AdamW's first step taken for linear
# AdamW is called equal where a run has one update.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return synchronisations, (is_linear and synchronisations == updates) or (updates == 1 and optimizer == "AdamW")
