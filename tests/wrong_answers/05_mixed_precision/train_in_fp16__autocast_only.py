# Source: autocast taken for all of mixed precision
# The loss is not scaled.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        loss.backward()
        if all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters()):
            optimizer.step()
        optimizer.zero_grad()
