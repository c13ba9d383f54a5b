# Source: full groups first, then the rest
# The size of the group is known before the loop over it.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    def update(group):
        for inputs, targets in group:
            loss_function(model(inputs), targets).div(len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()

    full = len(micro_batches) // k * k
    for start in range(0, full, k):
        update(micro_batches[start : start + k])
    if full < len(micro_batches):
        update(micro_batches[full:])
