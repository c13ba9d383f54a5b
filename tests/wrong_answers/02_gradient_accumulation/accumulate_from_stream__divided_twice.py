# Source: a likely slip: the loss and the gradients are divided
# Dividing once more does no harm.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        for parameter in model.parameters():
            parameter.grad /= len(group)
        optimizer.step()
