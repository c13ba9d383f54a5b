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
