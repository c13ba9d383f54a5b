# Source: optimizer.step() out of habit
# The optimizer steps on gradients that still carry the scale.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        optimizer.step()
        optimizer.zero_grad()
