# Source: a likely slip: zero_grad() one line too early
# zero_grad() belongs between backward and step.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.zero_grad()
        optimizer.step()
