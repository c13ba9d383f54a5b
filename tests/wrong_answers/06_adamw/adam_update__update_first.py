# Source: the order of a loop: step, then bookkeeping
# The weight moves before the moments take the gradient in.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    mean = state["mean"] / (1 - betas[0] ** state["step"])
    square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
    weight -= lr * mean / (square_mean.sqrt() + eps)
    state["mean"].mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
    state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
