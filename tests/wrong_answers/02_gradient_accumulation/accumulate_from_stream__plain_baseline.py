# Source: the plain loop, without accumulation
# Every micro-batch is an update of its own.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()
