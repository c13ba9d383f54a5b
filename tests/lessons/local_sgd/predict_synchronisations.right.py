# %% answer="by_loop"
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = averages = left = 0
    for index in range(micro_batches):
        if (index + 1) % k == 0 or index + 1 == micro_batches:
            updates, left = updates + 1, left + 1
            if left == every:
                averages, left = averages + 1, 0
    averages += left > 0
    return averages, averages == updates and "AdamW" not in optimizer and "clipping" not in optimizer


# %% answer="ceil"
import math


def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = math.ceil(micro_batches / k)
    averages = math.ceil(updates / every)
    linear = {"SGD": True, "SGD with momentum": True, "SGD with clipping": False, "AdamW": False}[optimizer]
    return averages, linear and (every == 1 or updates == 1)


# %% answer="divmod"
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    full, rest = divmod(micro_batches, k)
    averages, left = divmod(full + bool(rest), every)
    return [
        averages + (left > 0),
        optimizer.startswith("SGD") and not optimizer.endswith("clipping") and min(every, full + bool(rest)) == 1,
    ]
