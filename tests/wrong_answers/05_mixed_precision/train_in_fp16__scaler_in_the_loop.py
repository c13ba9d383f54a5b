# Source: a scaler for each micro-batch
# A new scaler forgets what the one before learnt.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    for inputs, targets in micro_batches:
        scaler = torch.amp.GradScaler(place)
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
