# Source: a habit of clipping to 1
# The gradients are clipped, which is not asked for.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    if is_finite:
        for parameter in parameters:
            parameter.grad /= scaler.scale
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        scaler.good_updates += 1
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
