# Source: both moments in one tensor
# One tensor [2, ...] holds both moments; .data is changed.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        betas = torch.tensor(group["betas"])
        for weight in filter(lambda weight: weight.grad is not None, group["params"]):
            state = optimizer.state[weight]
            shares = betas.to(weight).view(2, *[1] * weight.dim())
            moments = state.get("moments", torch.zeros(2, *weight.shape, device=weight.device))
            state["moments"] = moments = shares * moments + (1 - shares) * torch.stack([weight.grad, weight.grad**2])
            state["left"] = [left * beta for left, beta in zip(state.get("left", [1.0, 1.0]), group["betas"])]
            mean, square_mean = (moment / (1 - left) for moment, left in zip(moments, state["left"]))
            weight.data *= 1 - group["lr"] * group["weight_decay"]
            weight.data -= group["lr"] * mean / (square_mean**0.5 + group["eps"])
