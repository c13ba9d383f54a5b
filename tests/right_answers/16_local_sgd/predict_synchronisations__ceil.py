import math


def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = math.ceil(micro_batches / k)
    averages = math.ceil(updates / every)
    linear = {"SGD": True, "SGD with momentum": True, "SGD with clipping": False, "AdamW": False}[optimizer]
    return averages, linear and (every == 1 or updates == 1)
