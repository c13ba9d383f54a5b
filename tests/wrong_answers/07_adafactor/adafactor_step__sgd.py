# Source: plain SGD with decay
# The gradient is not divided.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.sub_(group["lr"] * weight.grad)
