# Source: a model left in eval mode
# The model is switched to eval mode.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place)
    model.eval()
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
