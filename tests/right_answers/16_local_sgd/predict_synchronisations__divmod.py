def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    full, rest = divmod(micro_batches, k)
    averages, left = divmod(full + bool(rest), every)
    return [
        averages + (left > 0),
        optimizer.startswith("SGD") and not optimizer.endswith("clipping") and min(every, full + bool(rest)) == 1,
    ]
