# Source: a likely slip: the last group takes what is left over
# The micro-batches after the last full group join it.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    groups = max(1, len(micro_batches) // k)
    for number in range(groups):
        end = (number + 1) * k if number + 1 < groups else len(micro_batches)
        group = micro_batches[number * k : end]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
