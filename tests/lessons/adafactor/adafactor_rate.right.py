# %% answer="branches"
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


# %% answer="by_flags"
# Source: flags of each form
# A table of options.
FLAGS = {"Trainer": "", "transformers": "rs", "warm-up": "rsw", "scaled": "s", "torch": "rst"}


def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    flags, rate = FLAGS[form], lr
    if "r" in flags:
        bound = lr if "t" in flags else 1e-6 * step if "w" in flags else 0.01
        rate = sorted((bound, step ** (-1 / 2)))[0]
    return rate * (sorted((0.001, weight_rms))[1] if "s" in flags else 1.0)


# %% answer="tensor"
# Source: with tensors
# Rates are tensors of one number.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    rate = torch.tensor(lr, dtype=torch.float64)
    if form in ("transformers", "warm-up", "torch"):
        bound = {"torch": lr, "warm-up": 1e-6 * step}.get(form, 1e-2)
        rate = torch.tensor(step, dtype=torch.float64).rsqrt().clamp(max=bound)
    return rate if form == "Trainer" else rate * torch.tensor(weight_rms, dtype=torch.float64).clamp(min=1e-3)
