# %% edit="cleared_at_the_end"
# Source: gradients that are cleared where they have been used
#       scaler.update()
# +     optimizer.zero_grad()

# %% answer="gradients_averaged"
# Source: a division of the gradients
# The sum of the gradients is divided once, and unscaled by hand.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets)
        torch.autograd.backward(scaler.scale(loss))
    scaler.unscale_(optimizer)
    for parameter in model.parameters():
        parameter.grad /= len(micro_batches)
    norm = torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% answer="loss_outside_of_autocast"
# Source: the region around the model alone
# The loss is computed in float32 outputs, outside of the region.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    autocast = torch.autocast(next(model.parameters()).device.type, dtype=torch.float16)
    for inputs, targets in micro_batches:
        with autocast:
            outputs = model(inputs)
        scaler.scale(loss_function(outputs.float(), targets)).div(len(micro_batches)).backward()
    scaler.unscale_(optimizer)
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm))
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% edit="norm_by_hand"
# Source: a norm and a clipping of one's own
#       scaler.unscale_(optimizer)
# -     norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# +     parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
# +     norm = sum(parameter.grad.double().square().sum() for parameter in parameters) ** 0.5
# +     if norm > max_norm:
# +         for parameter in parameters:
# +             parameter.grad *= max_norm / norm.item()
