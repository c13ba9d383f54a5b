# Source: a likely slip: eps at the end
# eps is added to the estimate.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            squares = weight.grad.square()
            means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
            if not state:
                state |= {"step": 0, "means": [torch.zeros_like(mean) for mean in means]}
            state["step"] += 1
            beta = 1 - state["step"] ** group["decay_rate"]
            for kept, mean in zip(state["means"], means, strict=True):
                kept.mul_(beta).add_(mean, alpha=1 - beta)
            second = state["means"][0]
            if weight.dim() > 1:
                second = second / second.mean(-2, True) * state["means"][1]
            update = weight.grad / (second + group["eps"]).sqrt()
            update = update / (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
            rate = group["lr"]
            if group["scale_parameter"]:
                rate = rate * max(1e-3, float(weight.square().mean().sqrt()))
            weight.mul_(1 - rate * group["weight_decay"])
            weight.sub_(rate * update)
