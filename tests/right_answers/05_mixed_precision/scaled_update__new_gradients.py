# Source: gradients that are replaced, and cleared afterwards
# Each .grad becomes a new tensor; all are cleared after the step.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    if is_finite:
        for parameter in parameters:
            parameter.grad = parameter.grad * (1.0 / scaler.scale)
        optimizer.step()
        optimizer.zero_grad()
    scaler.good_updates = scaler.good_updates + 1 if is_finite else 0
    scaler.scale = scaler.scale if is_finite else scaler.scale / 2
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
