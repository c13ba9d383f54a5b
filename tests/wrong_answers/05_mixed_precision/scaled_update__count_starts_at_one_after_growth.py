# Source: an off-by-one in a growth of one's own
# The count begins again at 1 after a growth, so that the next one comes an update too early.
def scaled_update(scaler, optimizer) -> None:
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if all(bool(parameter.grad.isfinite().all()) for parameter in parameters):
        for parameter in parameters:
            parameter.grad /= scaler.scale
        optimizer.step()
        scaler.good_updates += 1
        if scaler.good_updates >= scaler.growth_interval:
            scaler.scale *= 2
            scaler.good_updates = 1
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
