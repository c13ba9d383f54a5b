# Source: the sum of a group is divided once the group is complete
# One micro-batch is held; the gradients are divided when the group is complete.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    def divide_and_update(count):
        for parameter in model.parameters():
            parameter.grad.div_(count)
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    waiting = 0
    for inputs, targets in micro_batches:
        loss_function(model(inputs), targets).backward()
        waiting += 1
        if waiting == k:
            divide_and_update(waiting)
            waiting = 0
    if waiting:
        divide_and_update(waiting)
