# Source: a likely slip: the losses of a group are summed, then one backward is run
# Every graph of the group is held until the sum's backward, so no memory is saved.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        total = sum(loss_function(model(inputs), targets) for inputs, targets in group)
        (total / len(group)).backward()
        optimizer.step()
