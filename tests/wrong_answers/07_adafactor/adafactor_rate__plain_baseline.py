# Source: the learning rate that the user gave
# lr for all.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    return lr
