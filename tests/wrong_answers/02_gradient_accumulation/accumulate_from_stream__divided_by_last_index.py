# Source: a likely slip: the last index of enumerate taken for the count
# The last index of a group is its size.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        optimizer.zero_grad()
        for index, (inputs, targets) in enumerate(group):
            loss_function(model(inputs), targets).backward()
        for parameter in model.parameters():
            parameter.grad /= max(index, 1)
        optimizer.step()
