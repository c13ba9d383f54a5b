# Source: the single-tensor loop of PyTorch
# addcdiv_ with a corrected denominator.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    state["mean"].lerp_(gradient, 1 - betas[0])
    state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    size = lr / (1 - betas[0] ** state["step"])
    denominator = (state["square_mean"].sqrt() / (1 - betas[1] ** state["step"]) ** 0.5).add_(eps)
    weight.addcdiv_(state["mean"], denominator, value=-size)
