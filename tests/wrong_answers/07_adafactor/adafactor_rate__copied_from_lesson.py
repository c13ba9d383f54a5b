# Source: the first column of the lesson's table, for all forms
# All forms have transformers' default rate.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    bounds = dict.fromkeys(("transformers", "warm-up", "torch"), 1e-2)
    rate = min(bounds[form], step**-0.5) if form in bounds else min(1e-2, step**-0.5)
    return rate * max(1e-3, weight_rms)
