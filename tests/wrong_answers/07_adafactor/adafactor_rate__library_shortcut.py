# Source: transformers' own method, for all forms
# The method of transformers knows no form of PyTorch.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    is_relative, is_scaled = form in ("transformers", "warm-up", "torch"), form != "Trainer"
    group = {"lr": lr, "relative_step": is_relative, "scale_parameter": is_scaled, "warmup_init": form == "warm-up"}
    return Adafactor._get_lr(group | {"eps": (1e-30, 1e-3)}, {"step": step, "RMS": weight_rms})
