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
