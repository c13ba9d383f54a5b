# Source: a mean that is kept up to date after every micro-batch
# The gradients are a running mean of their group at any time.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    count = 0
    for inputs, targets in micro_batches:
        if count == k:
            optimizer.step()
            optimizer.zero_grad()
            count = 0
        count += 1
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad *= (count - 1) / count
        (loss_function(model(inputs), targets) / count).backward()
    if count:
        optimizer.step()
