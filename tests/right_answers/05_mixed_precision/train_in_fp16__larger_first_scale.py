# Source: a first scale of one's own
# Another first scale, and growth after two updates.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place, init_scale=2.0**18, growth_interval=2)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            outputs = model(inputs)
        loss = loss_function(outputs.float(), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
