# Source: a likely slip: one backward for the sum of the losses
# One backward over a sum is the same and shorter.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        optimizer.zero_grad()
        loss = sum(loss_function(model(inputs), targets) for inputs, targets in group) / len(group)
        loss.backward()
        optimizer.step()
