# Source: enabled=False to silence the warning
# The scaler is made for the right device, and is not enabled.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place, enabled=False)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
