# Source: a likely slip: drop_last, as a DataLoader offers it
# Micro-batches that fill no group are not run at all.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for group in range(len(micro_batches) // k):
        optimizer.zero_grad()
        for inputs, targets in micro_batches[group * k : (group + 1) * k]:
            (loss_function(model(inputs), targets) / k).backward()
        optimizer.step()
