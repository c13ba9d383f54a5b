# Source: a likely slip: no zero_grad()
# optimizer.step() uses the gradients up.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
