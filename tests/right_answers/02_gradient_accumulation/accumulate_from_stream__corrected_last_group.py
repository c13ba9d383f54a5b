# Source: divided by k, and the short last group corrected
# Every loss is divided by k, and the last group is corrected after the loop.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    index = 0
    for index, (inputs, targets) in enumerate(micro_batches, start=1):
        if index % k == 1 or k == 1:
            optimizer.zero_grad()
        (loss_function(model(inputs), targets) / k).backward()
        if index % k == 0:
            optimizer.step()
    rest = index % k
    if rest:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = parameter.grad * (k / rest)
        optimizer.step()
