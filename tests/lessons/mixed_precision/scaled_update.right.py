# %% answer="factor_prepared"
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


# %% answer="new_gradients"
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


# %% answer="one_norm"
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


# %% answer="unscaled_first"
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
