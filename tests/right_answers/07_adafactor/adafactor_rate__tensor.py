# Source: with tensors
# Rates are tensors of one number.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    rate = torch.tensor(lr, dtype=torch.float64)
    if form in ("transformers", "warm-up", "torch"):
        bound = {"torch": lr, "warm-up": 1e-6 * step}.get(form, 1e-2)
        rate = torch.tensor(step, dtype=torch.float64).rsqrt().clamp(max=bound)
    return rate if form == "Trainer" else rate * torch.tensor(weight_rms, dtype=torch.float64).clamp(min=1e-3)
