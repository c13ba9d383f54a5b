# Source: a likely slip: no division
# backward() over a group leaves a mean.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        optimizer.zero_grad()
        for inputs, targets in group:
            loss_function(model(inputs), targets).backward()
        optimizer.step()
