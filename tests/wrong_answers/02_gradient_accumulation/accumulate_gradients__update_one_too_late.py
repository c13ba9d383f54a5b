# Source: a likely slip: the update at index 0 is noticed, and excluded
# index % k == 0 is true for the first member of the next group, not for the last of this one.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        (loss_function(model(inputs), targets) / k).backward()
        if (index > 0 and index % k == 0) or index == len(micro_batches) - 1:
            optimizer.step()
            optimizer.zero_grad()
