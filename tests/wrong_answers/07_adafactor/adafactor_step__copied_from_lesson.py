# Source: the whole second moment of the lesson, called for each weight
# No factors, no scale, no decay.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                second = whole_second_moment(weight.grad, optimizer.state[weight], group["decay_rate"], group["eps"])
                update = weight.grad / second.sqrt()
                update /= max(1.0, update.square().mean().sqrt() / group["clip_threshold"])
                weight.sub_(group["lr"] * update)
