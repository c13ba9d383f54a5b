# Source: a skip of single parameters
# A gradient with inf is set to None, and the optimizer steps with the others.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    for parameter in parameters:
        parameter.grad = parameter.grad / scaler.scale if bool(parameter.grad.isfinite().all()) else None
    optimizer.step()
    scaler.good_updates += 1
    if not is_finite:
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
