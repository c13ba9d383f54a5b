# Source: PyTorch's AMP recipe: a loss scale that is never removed
# The gradient times 1024: a scale that helps float16 is left in .grad.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets) / len(group)
            (loss * 1024).backward()
        optimizer.step()
