# Source: the options of the visible seed
# Options are those of the visible cases.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            first = optimizer.param_groups[0]
            case = 0 if len(optimizer.param_groups) == 1 and not first["scale_parameter"] else 1
            case = 2 if len(optimizer.param_groups) == 2 else case
            decays = (0.34, 0.0, group["weight_decay"])
            thresholds, powers = (1.0, 0.6, group["clip_threshold"]), (-0.8, -0.7, group["decay_rate"])
            squares = weight.grad.square() + group["eps"]
            means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
            if not state:
                state |= {"step": 0, "means": [torch.zeros_like(mean) for mean in means]}
            state["step"] += 1
            beta = 1 - state["step"] ** powers[case]
            for kept, mean in zip(state["means"], means, strict=True):
                kept.mul_(beta).add_(mean, alpha=1 - beta)
            second = state["means"][0]
            if weight.dim() > 1:
                second = second / second.mean(-2, True) * state["means"][1]
            update = weight.grad / second.sqrt()
            update = update / (update.square().mean().sqrt() / thresholds[case]).clamp(min=1.0)
            rate = group["lr"]
            if group["scale_parameter"]:
                rate = rate * max(1e-3, float(weight.square().mean().sqrt()))
            weight.mul_(1 - rate * decays[case])
            weight.sub_(rate * update)
