# Source: a float32 loop
# The model trains in float32.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
