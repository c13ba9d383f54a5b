# Source: SGD written out
# The weights are moved by hand, and the optimizer with its momentum never steps.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    if is_finite:
        for parameter in parameters:
            parameter.data -= 0.1 * parameter.grad / scaler.scale
        scaler.good_updates += 1
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
