# Source: the RMSProp of the lesson, called for each weight
# RMSProp with its own alpha, no mean of gradients, no decay.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                rmsprop_update(weight, weight.grad, optimizer.state[weight], group["lr"], eps=group["eps"])
