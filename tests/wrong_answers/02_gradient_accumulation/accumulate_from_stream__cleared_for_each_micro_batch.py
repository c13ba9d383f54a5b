# Source: habit: zero_grad() in front of every backward()
# Gradients are cleared before each backward.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        for inputs, targets in group:
            optimizer.zero_grad()
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
