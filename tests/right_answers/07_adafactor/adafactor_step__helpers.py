# Source: helper functions and a counter tensor
# The step is split into an estimate, an update and a rate.
def estimate_of(squares, state, share):
    names = ("row", "column") if squares.dim() > 1 else ("whole",)
    for name, dim in zip(names, (-1, -2), strict=False):
        mean = squares.mean(dim=dim, keepdim=True) if len(names) > 1 else squares
        state[name] = torch.lerp(state[name], mean, share) if name in state else mean
    if len(names) == 1:
        return state["whole"]
    return state["row"] * (state["column"] / state["column"].mean(dim=-1, keepdim=True))


def root_mean_square(tensor):
    return float((tensor * tensor).mean()) ** 0.5


def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in filter(lambda parameter: parameter.grad is not None, group["params"]):
            state = optimizer.state[weight]
            state.setdefault("step", torch.zeros(())).add_(1)
            share = float(state["step"]) ** group["decay_rate"]
            update = weight.grad * estimate_of(weight.grad.square() + group["eps"], state, share).rsqrt()
            update *= min(1.0, group["clip_threshold"] / max(root_mean_square(update), 1e-30))
            rate = group["lr"]
            rate *= max(1e-3, root_mean_square(weight)) if group["scale_parameter"] else 1
            weight.copy_(weight - rate * (group["weight_decay"] * weight + update))
