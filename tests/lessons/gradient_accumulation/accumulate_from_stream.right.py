# %% answer="corrected_last_group"
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


# %% answer="gradients_divided_at_the_end"
# Source: the sum of a group is divided once the group is complete
# One micro-batch is held; the gradients are divided when the group is complete.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    def divide_and_update(count):
        for parameter in model.parameters():
            parameter.grad.div_(count)
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    waiting = 0
    for inputs, targets in micro_batches:
        loss_function(model(inputs), targets).backward()
        waiting += 1
        if waiting == k:
            divide_and_update(waiting)
            waiting = 0
    if waiting:
        divide_and_update(waiting)


# %% answer="groups_from_a_generator"
# Source: a generator of groups in a function of its own
# A generator cuts the stream into groups.
def in_groups(stream, size):
    group = []
    for micro_batch in stream:
        group.append(micro_batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    for group in in_groups(micro_batches, k):
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets)
            (loss / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


# %% answer="running_mean"
# Source: a mean that is kept up to date after every micro-batch
# The gradients are a running mean of their group at any time.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    count = 0
    for inputs, targets in micro_batches:
        if count == k:
            optimizer.step()
            optimizer.zero_grad()
            count = 0
        count += 1
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad *= (count - 1) / count
        (loss_function(model(inputs), targets) / count).backward()
    if count:
        optimizer.step()
