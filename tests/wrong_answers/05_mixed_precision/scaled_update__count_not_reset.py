# Source: survey of courses, lesson 05: 65,536 for 32,768 at step 4
# The count of good updates goes on through an infinity.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    if is_finite:
        for parameter in parameters:
            parameter.grad /= scaler.scale
        optimizer.step()
        scaler.good_updates += 1
    else:
        scaler.scale /= 2
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
