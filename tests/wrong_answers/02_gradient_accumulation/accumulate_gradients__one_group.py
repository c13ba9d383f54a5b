# Source: the lesson's worked example, with an update behind it
# The whole epoch is taken for one group.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets) / len(micro_batches)
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
