# Source: slides on training with PyTorch, the published loop
# The scaler is made for CUDA, and switches itself off on a CPU.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler()
    for inputs, targets in micro_batches:
        with torch.autocast(device_type="cpu", dtype=torch.float16):
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
