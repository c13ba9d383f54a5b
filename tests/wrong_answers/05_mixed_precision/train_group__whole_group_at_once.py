# Source: one forward for the group
# The micro-batches are put together.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    optimizer.zero_grad()
    with torch.autocast(inputs.device.type, torch.float16):
        loss = loss_function(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
