# %% answer="by_autograd_grad"
# Source: torch.autograd.grad instead of backward()
# The gradients of a group are averaged in tensors of their own.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    parameters = list(model.parameters())
    remaining = list(micro_batches)
    while remaining:
        group, remaining = remaining[:k], remaining[k:]
        means = [torch.zeros_like(parameter) for parameter in parameters]
        for inputs, targets in group:
            gradients = torch.autograd.grad(loss_function(model(inputs), targets), parameters)
            means = [mean + gradient / len(group) for mean, gradient in zip(means, gradients)]
        for parameter, mean in zip(parameters, means):
            parameter.grad = mean
        optimizer.step()
    optimizer.zero_grad()


# %% answer="divided_at_the_end"
# Source: a sum of gradients, divided once
# The members are counted; .grad is divided when the group is complete.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    members = 0
    model.zero_grad()
    for number, (inputs, targets) in enumerate(micro_batches, start=1):
        loss_function(model(inputs), targets).backward()
        members += 1
        if members == k or number == len(micro_batches):
            for parameter in model.parameters():
                parameter.grad /= members
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            members = 0


# %% answer="groups_by_slicing"
# Source: one slice for each group
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets)
            (loss / len(group)).backward()
        optimizer.step()


# %% answer="last_group_apart"
# Source: full groups first, then the rest
# The size of the group is known before the loop over it.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    def update(group):
        for inputs, targets in group:
            loss_function(model(inputs), targets).div(len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    full = len(micro_batches) // k * k
    for start in range(0, full, k):
        update(micro_batches[start : start + k])
    if full < len(micro_batches):
        update(micro_batches[full:])


# %% answer="weighted_backward"
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
