# Source: one number for all gradients
# The sum of all gradients is finite where each of them is.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    total = sum(parameter.grad.double().abs().sum() for parameter in parameters)
    if torch.isfinite(total):
        for parameter in parameters:
            parameter.grad.mul_(scaler.scale**-1)
        optimizer.step()
        scaler.good_updates += 1
        return_scale = scaler.scale
    else:
        return_scale = scaler.scale / 2
        scaler.good_updates = 0
    scaler.scale = return_scale
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
