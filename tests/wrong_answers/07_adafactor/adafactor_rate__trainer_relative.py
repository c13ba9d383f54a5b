# Source: transformers' default
# The Trainer's rate falls.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr, "Trainer": 1e-2}
    rate = min(bounds[form], step**-0.5) if form in bounds else lr
    return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
