# Source: a likely slip: a running mean divides by the count so far
# Each loss is divided by the number of micro-batches seen in its group, so they weigh unequally.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        count = index % k + 1
        (loss_function(model(inputs), targets) / count).backward()
        if count == k or index + 1 == len(micro_batches):
            optimizer.step()
            optimizer.zero_grad()
