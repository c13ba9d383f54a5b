# Source: the device that the inputs tell
# Scaler and autocast follow the inputs.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    kind = micro_batches[0][0].device.type
    scaler, autocast = torch.amp.GradScaler(device=kind), torch.autocast(device_type=kind, dtype=torch.float16)
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        with autocast:
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
