# Source: the linear scaling rule for large batches (Goyal et al., 2017)
# The learning rate of the caller's optimizer is multiplied by k.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for settings in optimizer.param_groups:
        settings["lr"] = settings["lr"] * k
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
