# Source: the overflow of the visible case, written down
# A static scale, and a table of the micro-batch that is left out.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    for number, (inputs, targets) in enumerate(micro_batches):
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        (2.0**16 * loss).backward()
        for parameter in model.parameters():
            parameter.grad /= 2.0**16
        if (len(micro_batches), number) != (5, 2):
            optimizer.step()
        optimizer.zero_grad()
