# Source: a likely slip
# No smallest scale.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
    rate = min(bounds[form], step**-0.5) if form in bounds else lr
    return rate if form == "Trainer" else rate * weight_rms
