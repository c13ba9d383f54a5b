# Source: assignments instead of in-place operations
# New tensors take the place of the moments; the weight is copied into.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    state["mean"] = betas[0] * state["mean"] + (1 - betas[0]) * gradient
    state["square_mean"] = betas[1] * state["square_mean"] + (1 - betas[1]) * gradient**2
    mean = state["mean"] / (1 - betas[0] ** state["step"])
    square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
    weight.copy_(weight - lr * mean / (torch.sqrt(square_mean) + eps))
