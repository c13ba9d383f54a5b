# Source: an ordinary training loop with a condition in front of step()
# zero_grad() at each micro-batch removes what earlier ones added.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for index, (inputs, targets) in enumerate(micro_batches):
        group_size = min(k, len(micro_batches) - index // k * k)
        optimizer.zero_grad()
        (loss_function(model(inputs), targets) / group_size).backward()
        if (index + 1) % k == 0 or index + 1 == len(micro_batches):
            optimizer.step()
