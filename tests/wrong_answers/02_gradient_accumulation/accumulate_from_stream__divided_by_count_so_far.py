# Source: a likely slip: the count while it still grows
# The count so far is the divisor of the loss that it belongs to.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    while group := list(islice(micro_batches, k)):
        for count, (inputs, targets) in enumerate(group, start=1):
            (loss_function(model(inputs), targets) / count).backward()
        optimizer.step()
        optimizer.zero_grad()
