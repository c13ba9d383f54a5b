# %% answer="calls_own_moment"
# Source: one's own factored_second_moment, called for matrices
# The exercise before is called, as its contract allows.
def own_moment(gradient, state, decay_rate, eps):
    if gradient.dim() < 2:
        return whole_second_moment(gradient, state, decay_rate, eps)
    if not state:
        state |= {"step": 0, "row": 0.0, "column": 0.0}
    state["step"] += 1
    beta, squares = 1 - state["step"] ** decay_rate, gradient.square() + eps
    state["row"] = beta * state["row"] + (1 - beta) * squares.mean(dim=-1)
    state["column"] = beta * state["column"] + (1 - beta) * squares.mean(dim=-2)
    share = state["row"] / state["row"].mean(dim=-1, keepdim=True)
    return share.unsqueeze(-1) * state["column"].unsqueeze(-2)


def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        lr, decay, threshold = group["lr"], group["weight_decay"], group["clip_threshold"]
        for weight in group["params"]:
            if weight.grad is None:
                continue
            second = own_moment(weight.grad, optimizer.state[weight], group["decay_rate"], group["eps"])
            update = weight.grad / second.sqrt()
            update /= max(1, update.square().mean().sqrt().item() / threshold)
            rate = lr * max(1e-3, weight.square().mean().sqrt().item()) if group["scale_parameter"] else lr
            weight -= rate * decay * weight
            weight -= rate * update


# %% answer="data_and_stacked"
# Source: weight.data, and the decay as a part of the difference
# Everything is computed out of place, and written through .data.
def adafactor_step(optimizer) -> None:
    for options in optimizer.param_groups:
        for parameter in options["params"]:
            gradient = parameter.grad
            if gradient is not None:
                kept = optimizer.state[parameter]
                step = kept["count"] = kept.get("count", 0) + 1
                new, squares = step ** options["decay_rate"], gradient.pow(2) + options["eps"]
                if gradient.ndim < 2:
                    kept["v"] = (1 - new) * kept["v"] + new * squares if step > 1 else squares
                    root = kept["v"].sqrt()
                else:
                    r, c = squares.mean(-1), squares.mean(-2)
                    if step > 1:
                        r, c = (1 - new) * kept["r"] + new * r, (1 - new) * kept["c"] + new * c
                    kept["r"], kept["c"] = r, c
                    root = (r / r.mean(-1, keepdim=True)).sqrt()[..., :, None] * c.sqrt()[..., None, :]
                direction = gradient / root
                size = direction.pow(2).mean().sqrt()
                direction = direction / torch.maximum(torch.ones_like(size), size / options["clip_threshold"])
                rate = torch.as_tensor(options["lr"])
                if options["scale_parameter"]:
                    rate = rate * parameter.data.pow(2).mean().sqrt().clamp(min=0.001)
                parameter.data = parameter.data * (1 - rate * options["weight_decay"]) - rate * direction


# %% answer="helpers"
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


# %% answer="like_transformers"
# Source: transformers' order of operations
# Both factors are reciprocal roots; the gradient is multiplied.
def adafactor_step(optimizer) -> None:
    def rms(tensor):
        return tensor.norm(2) / tensor.numel() ** 0.5

    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, gradient = optimizer.state[weight], weight.grad
            state["step"] = state.get("step", 0) + 1
            rate = group["lr"] * (max(1e-3, rms(weight)) if group["scale_parameter"] else 1.0)
            beta = 1.0 - state["step"] ** group["decay_rate"]
            squares = gradient**2 + group["eps"]
            if gradient.dim() >= 2:
                state["row"] = beta * state.get("row", 0) + (1 - beta) * squares.mean(dim=-1)
                state["column"] = beta * state.get("column", 0) + (1 - beta) * squares.mean(dim=-2)
                row = (state["row"] / state["row"].mean(dim=-1, keepdim=True)).rsqrt().unsqueeze(-1)
                update = row * state["column"].rsqrt().unsqueeze(-2) * gradient
            else:
                state["whole"] = beta * state.get("whole", 0) + (1 - beta) * squares
                update = state["whole"].rsqrt() * gradient
            update.div_((rms(update) / group["clip_threshold"]).clamp_(min=1.0))
            weight.add_(weight, alpha=-float(group["weight_decay"] * rate))
            weight.add_(-rate * update)
