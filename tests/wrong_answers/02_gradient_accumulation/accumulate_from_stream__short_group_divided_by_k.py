# Source: a likely slip: the rest is updated after the loop and stays divided by k
# An update after the loop is all that the last group needs.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    count = 0
    for inputs, targets in micro_batches:
        (loss_function(model(inputs), targets) / k).backward()
        count += 1
        if count == k:
            optimizer.step()
            optimizer.zero_grad()
            count = 0
    if count:
        optimizer.step()
