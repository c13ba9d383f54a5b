# Source: a likely slip: torch.chunk(k) makes k chunks, not chunks of k
# k is taken for the number of updates.
import math


def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    size = math.ceil(len(micro_batches) / k)
    for start in range(0, len(micro_batches), size):
        group = micro_batches[start : start + size]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
