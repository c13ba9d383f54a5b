# Source: the lesson's worked example of a static scale
# The gradients are divided, and every update steps.
def scaled_update(scaler, optimizer) -> None:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad /= scaler.scale
    optimizer.step()
