# Source: the lesson's worked example of one group
# The example accumulates one group and leaves the update to its caller.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets) / len(micro_batches)
        loss.backward()
