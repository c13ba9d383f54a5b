# Source: backward() takes the weight of the loss
# An iterator gives one group after the other.
from itertools import islice


def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    stream = iter(micro_batches)
    while True:
        group = list(islice(stream, k))
        if not group:
            break
        weight = torch.tensor(1 / len(group), device=group[0][0].device)
        optimizer.zero_grad()
        for inputs, targets in group:
            loss_function(model(inputs), targets).backward(weight)
        optimizer.step()
