# Source: a step that is undone
# The optimizer steps on inf, and the weights are copied back.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    kept = [parameter.detach().clone() for parameter in parameters]
    for parameter in parameters:
        parameter.grad /= scaler.scale
    optimizer.step()
    scaler.good_updates += 1
    if not is_finite:
        for parameter, weight in zip(parameters, kept, strict=True):
            parameter.data.copy_(weight)
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
