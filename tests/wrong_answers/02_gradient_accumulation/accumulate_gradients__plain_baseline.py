# Source: an ordinary training loop
# Every micro-batch gets an update of its own, so nothing is accumulated.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()
