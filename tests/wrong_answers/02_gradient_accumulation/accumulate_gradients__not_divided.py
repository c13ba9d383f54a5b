# Source: PyTorch forum, 'Why do we need to set the gradients manually to zero': a loop without the division
# k backward passes leave a sum; it is taken for a mean. The gradient is k times too large.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        loss_function(model(inputs), targets).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.step()
            optimizer.zero_grad()
