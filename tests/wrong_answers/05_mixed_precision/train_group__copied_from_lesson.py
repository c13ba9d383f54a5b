# Source: the lesson's cell on the order of clipping
# The loop over the micro-batches is missing: the first of them stands for the group.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    inputs, targets = micro_batches[0]
    optimizer.zero_grad()
    with torch.autocast(inputs.device.type, torch.float16):
        loss = loss_function(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
