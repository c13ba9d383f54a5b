# Source: zero_grad left out
# The gradients of the group before are still there.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
