# Source: clip_grad_norm_: one norm for all
# The RMS of all updates together clips each.
def adafactor_step(optimizer) -> None:
    updates = []
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            squares = weight.grad.square() + group["eps"]
            means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
            if not state:
                state |= {"step": 0, "means": [torch.zeros_like(mean) for mean in means]}
            state["step"] += 1
            for kept, mean in zip(state["means"], means, strict=True):
                kept.lerp_(mean, state["step"] ** group["decay_rate"])
            second = state["means"][0]
            if weight.dim() > 1:
                second = second / second.mean(-2, True) * state["means"][1]
            updates.append((group, weight, weight.grad / second.sqrt()))
    size = torch.cat([update.flatten() for _, _, update in updates]).square().mean().sqrt()
    for group, weight, update in updates:
        rate = group["lr"]
        if group["scale_parameter"]:
            rate = rate * max(1e-3, float(weight.square().mean().sqrt()))
        weight.mul_(1 - rate * group["weight_decay"])
        weight.sub_(rate * update / (size / group["clip_threshold"]).clamp(min=1.0))
