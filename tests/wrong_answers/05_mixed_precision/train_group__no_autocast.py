# Source: a scaler without autocast
# The loss is scaled, and the forward runs in float32.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
