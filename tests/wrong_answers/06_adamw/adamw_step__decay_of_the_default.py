# Source: a default that is written down
# The decay is 0.01.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        beta1, beta2 = group["betas"]
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            gradient = weight.grad
            weight.mul_(1 - group["lr"] * 0.01)
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square_mean"].lerp_(gradient.square(), 1 - beta2)
            mean = state["mean"] / (1 - beta1 ** state["step"])
            square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
            weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
