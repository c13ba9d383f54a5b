# Source: the order of GradScaler
# The gradients are divided first, and looked at afterwards; infinity stays infinity.
def scaled_update(scaler, optimizer) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.div_(scaler.scale)
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    is_bad = any(torch.isinf(gradient).any() or torch.isnan(gradient).any() for gradient in gradients)
    scaler.good_updates = 0 if is_bad else scaler.good_updates + 1
    if is_bad:
        scaler.scale /= 2
    else:
        optimizer.step()
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0
