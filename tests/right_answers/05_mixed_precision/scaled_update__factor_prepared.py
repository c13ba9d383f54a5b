# Source: division as a product
# The inverse of the scale is computed once, and foreach multiplies.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    if not is_finite:
        scaler.scale, scaler.good_updates = scaler.scale * 0.5, 0
        return
    torch._foreach_mul_([parameter.grad for parameter in parameters], 1 / scaler.scale)
    optimizer.step()
    scaler.good_updates += 1
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
