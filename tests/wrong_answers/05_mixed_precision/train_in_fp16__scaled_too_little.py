# Source: a small static scale
# The scale of the first update is 2, too little for the first layers.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place, init_scale=2.0)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
