# Source: a likely slip: the options are read once, at the top
# All groups have the options of the first one.
def adamw_step(optimizer) -> None:
    options = optimizer.param_groups[0]
    lr, decay, (beta1, beta2), eps = options["lr"], options["weight_decay"], options["betas"], options["eps"]
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            gradient = weight.grad
            weight.mul_(1 - lr * decay)
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square_mean"].lerp_(gradient.square(), 1 - beta2)
            mean = state["mean"] / (1 - beta1 ** state["step"])
            square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
            weight.sub_(lr * mean / (square_mean.sqrt() + eps))
