# %% answer="calls_adam"
# Source: the update of the exercise before, written again
# A function for Adam inside, and the decay before its call.
def adamw_step(optimizer) -> None:
    def update(weight, state, lr, betas, eps):
        state["step"] = state.get("step", 0) + 1
        state["mean"] = betas[0] * state.get("mean", 0) + (1 - betas[0]) * weight.grad
        state["square_mean"] = betas[1] * state.get("square_mean", 0) + (1 - betas[1]) * weight.grad.pow(2)
        first, second = (1 - beta ** state["step"] for beta in betas)
        weight.sub_(lr * state["mean"] / first / ((state["square_mean"] / second).sqrt() + eps))

    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                weight.sub_(weight, alpha=group["lr"] * group["weight_decay"])
                update(weight, optimizer.state[weight], group["lr"], group["betas"], group["eps"])


# %% answer="data_and_stacked_moments"
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


# %% answer="decay_of_difference"
# Source: the decay as a second subtraction
# Both changes are computed from the old weight and added.
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
            pulled = group["lr"] * group["weight_decay"] * weight
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square_mean"].lerp_(gradient.square(), 1 - beta2)
            mean = state["mean"] / (1 - beta1 ** state["step"])
            square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
            weight -= pulled + group["lr"] * mean / (square_mean.sqrt() + group["eps"])


# %% answer="helpers"
# Source: two functions
# A generator of trained weights and a function for one of them.
def _trained(optimizer):
    for group in optimizer.param_groups:
        yield from ((group, weight) for weight in group["params"] if weight.grad is not None)


def adamw_step(optimizer) -> None:
    for group, weight in _trained(optimizer):
        state = optimizer.state[weight]
        state.setdefault("step", torch.zeros((), device=weight.device)).add_(1)
        corrected = []
        for name, number, beta in zip(("m", "s"), (weight.grad, weight.grad**2), group["betas"]):
            moment = state.setdefault(name, torch.zeros_like(weight))
            moment.mul_(beta).add_(number, alpha=1 - beta)
            corrected.append(moment / (1 - beta ** state["step"]))
        weight.copy_((1 - group["lr"] * group["weight_decay"]) * weight)
        weight.addcdiv_(corrected[0], corrected[1].sqrt().add(group["eps"]), value=-group["lr"])
