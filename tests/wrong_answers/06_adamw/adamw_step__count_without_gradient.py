# Source: a likely slip: the state is made before the skip
# A tensor that never has a gradient gets a step count.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        beta1, beta2 = group["betas"]
        for weight in group["params"]:
            state = optimizer.state[weight]
            state.setdefault("step", 0)
            if weight.grad is None:
                continue
            if "mean" not in state:
                state |= {"mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            gradient = weight.grad
            weight.mul_(1 - group["lr"] * group["weight_decay"])
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square_mean"].lerp_(gradient.square(), 1 - beta2)
            mean = state["mean"] / (1 - beta1 ** state["step"])
            square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
            weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
