# Source: a likely slip: names for new moments
# New moments are computed and never stored.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    mean = betas[0] * state["mean"] + (1 - betas[0]) * gradient
    square_mean = betas[1] * state["square_mean"] + (1 - betas[1]) * gradient**2
    mean = mean / (1 - betas[0] ** state["step"])
    square_mean = square_mean / (1 - betas[1] ** state["step"])
    weight -= lr * mean / (square_mean.sqrt() + eps)
