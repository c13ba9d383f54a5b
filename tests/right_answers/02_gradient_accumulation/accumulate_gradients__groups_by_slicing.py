# Source: one slice for each group
# The length of the slice is the size of the group.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets)
            (loss / len(group)).backward()
        optimizer.step()
