# Source: a norm and a clipping of one's own
# Norm and clipping are written out.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    norm = sum(parameter.grad.double().square().sum() for parameter in parameters) ** 0.5
    if norm > max_norm:
        for parameter in parameters:
            parameter.grad *= max_norm / norm.item()
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
