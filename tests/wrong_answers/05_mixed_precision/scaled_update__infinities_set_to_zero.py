# Source: nan_to_num as a remedy
# Infinite gradients are set to 0, and the step is made.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    for parameter in parameters:
        parameter.grad.div_(scaler.scale).nan_to_num_(0.0, 0.0, 0.0)
    optimizer.step()
    if is_finite:
        scaler.good_updates += 1
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
