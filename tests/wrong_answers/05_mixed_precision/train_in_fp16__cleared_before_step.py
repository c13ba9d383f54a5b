# Source: zero_grad at a wrong place
# The gradients are cleared between backward and step.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        optimizer.zero_grad()
        scaler.step(optimizer)
        scaler.update()
