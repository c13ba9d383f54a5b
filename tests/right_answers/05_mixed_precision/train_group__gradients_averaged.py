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
