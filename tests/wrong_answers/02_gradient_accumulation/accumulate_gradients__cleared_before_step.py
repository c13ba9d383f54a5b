# Source: a likely slip: zero_grad() and step() in the wrong order
# The gradient is removed before the optimizer reads it.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for index, (inputs, targets) in enumerate(micro_batches):
        group_size = min(k, len(micro_batches) - index // k * k)
        (loss_function(model(inputs), targets) / group_size).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.zero_grad()
            optimizer.step()
