# Source: a likely slip: len(micro_batches) for the length of the group
# Every loss is divided by the micro-batches of the whole epoch: the gradient times a constant.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        optimizer.zero_grad()
        for inputs, targets in micro_batches[start : start + k]:
            (loss_function(model(inputs), targets) / len(micro_batches)).backward()
        optimizer.step()
