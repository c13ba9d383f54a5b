# Source: a likely slip: an update after the loop, whether anything is left or not
# After the loop there is always a rest.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    def divide_and_update(count):
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= count
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    count = 0
    for inputs, targets in micro_batches:
        loss_function(model(inputs), targets).backward()
        count += 1
        if count == k:
            divide_and_update(count)
            count = 0
    divide_and_update(count)
