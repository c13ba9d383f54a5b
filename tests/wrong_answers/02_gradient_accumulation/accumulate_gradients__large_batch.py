# Source: the lesson's comparison with the large batch
# The group is put together and runs at once: the right gradient, at the full price.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        inputs, targets = (torch.cat(parts) for parts in zip(*group))
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()
