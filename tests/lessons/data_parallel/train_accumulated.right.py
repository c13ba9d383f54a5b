# %% answer="by_the_switch"
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    count = len(micro_batches) // world_size
    for index in range(count):
        inputs, targets = micro_batches[rank + index * world_size]
        size = min(k, count - index // k * k)
        is_last = index % k == size - 1
        model.require_backward_grad_sync = is_last
        loss = F.mse_loss(model(inputs), targets)
        (loss / size).backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


# %% answer="flat_by_hand"
def average(model, world_size):
    flat = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    dist.all_reduce(flat)
    torch.nn.utils.vector_to_parameters(flat / world_size, [parameter.grad for parameter in model.parameters()])
    for parameter, part in zip(model.parameters(), (flat / world_size).split([p.numel() for p in model.parameters()])):
        parameter.grad = part.view_as(parameter).clone()


def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        optimizer.zero_grad()
        with model.no_sync():
            for inputs, targets in own[start : start + k]:
                (F.mse_loss(model(inputs), targets) / len(own[start : start + k])).backward()
        average(model, world_size)
        optimizer.step()


# %% answer="loss_logged"
# Source: a log of the mean loss
# The loss of each micro-batch is all-reduced for a log, and the mean returned.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> float:
    own, logged = micro_batches[rank::world_size], []
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                loss = F.mse_loss(model(inputs), targets)
                (loss / len(group)).backward()
            shown = loss.detach() / world_size
            dist.all_reduce(shown)
            logged.append(shown)
        optimizer.step()
        optimizer.zero_grad()
    return float(torch.stack(logged).mean())


# %% edit="own_wrapper"
# Source: a wrapper of the learner's own
#       own = micro_batches[rank::world_size]
# +     model = DistributedDataParallel(model.module)


# %% answer="silent_then_loud"
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    optimizer.zero_grad()
    own = [pair for index, pair in enumerate(micro_batches) if index % world_size == rank]
    while own:
        group, own = own[:k], own[k:]
        *silent, last = group
        with model.no_sync():
            for inputs, targets in silent:
                F.mse_loss(model(inputs), targets).div(len(group)).backward()
        F.mse_loss(model(last[0]), last[1]).div(len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
