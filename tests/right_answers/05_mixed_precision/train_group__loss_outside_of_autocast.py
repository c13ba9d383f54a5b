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
