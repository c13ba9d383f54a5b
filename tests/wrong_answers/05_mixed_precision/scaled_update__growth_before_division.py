# Source: the scale adjusted first
# The scale changes before the gradients are divided by it.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    if is_finite:
        scaler.good_updates += 1
        divisor = scaler.scale * 2 if scaler.good_updates == scaler.growth_interval else scaler.scale
        for parameter in parameters:
            parameter.grad /= divisor
        optimizer.step()
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
