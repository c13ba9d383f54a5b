# Source: a likely slip: zero_grad() is left out with the rest of the plain loop
# The gradient of the last group is still there when the next one begins.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        group_size = min(k, len(micro_batches) - index // k * k)
        (loss_function(model(inputs), targets) / group_size).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.step()
