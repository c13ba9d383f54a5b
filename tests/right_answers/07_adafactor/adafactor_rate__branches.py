# Source: one branch for each form
# Every form by itself.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    import math

    scale = weight_rms if weight_rms > 1e-3 else 1e-3
    falling = 1 / math.sqrt(step)
    if form == "Trainer":
        return lr
    if form == "scaled":
        return lr * scale
    if form == "torch":
        return scale * min(lr, falling)
    if form == "warm-up":
        return scale * min(step / 1_000_000, falling)
    return scale * min(0.01, falling)
