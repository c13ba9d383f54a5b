# Source: an optimizer's step after clipping
# The scaled gradient is clipped, and the optimizer steps on it.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()
