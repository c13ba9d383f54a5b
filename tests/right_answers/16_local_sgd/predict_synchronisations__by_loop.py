def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = averages = left = 0
    for index in range(micro_batches):
        if (index + 1) % k == 0 or index + 1 == micro_batches:
            updates, left = updates + 1, left + 1
            if left == every:
                averages, left = averages + 1, 0
    averages += left > 0
    return averages, averages == updates and "AdamW" not in optimizer and "clipping" not in optimizer
