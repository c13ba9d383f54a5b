# %% answer="by_hand"
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for number in range(-(-len(own) // k)):
        group = own[number * k : number * k + k]
        gradients = [torch.zeros_like(parameter) for parameter in model.parameters()]
        for inputs, targets in group:
            for total, part in zip(
                gradients, torch.autograd.grad(F.mse_loss(model(inputs), targets), list(model.parameters()))
            ):
                total += part / len(group)
        for parameter, gradient in zip(model.parameters(), gradients):
            parameter.grad = gradient
        optimizer.step()
        if (number + 1) % every == 0 or number + 1 == -(-len(own) // k):
            tensors = [*model.parameters(), *(one for one in model.buffers() if one.dtype == torch.float32)]
            flat = torch.cat([tensor.detach().flatten() for tensor in tensors]) / world_size
            dist.all_reduce(flat)
            for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
                tensor.detach().copy_(part.view_as(tensor))


# %% answer="by_index"
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    updates = since = 0
    for index, (inputs, targets) in enumerate(own):
        first = index - index % k
        (F.mse_loss(model(inputs), targets) / min(k, len(own) - first)).backward()
        if (index + 1) % k and index + 1 < len(own):
            continue
        optimizer.step()
        model.zero_grad()
        since += 1
        if since == every:
            average(model)
            since = 0
    if since:
        average(model)


# %% answer="by_rounds"
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k * every):
        for first in range(start, min(start + k * every, len(own)), k):
            group = own[first : min(first + k, len(own))]
            optimizer.zero_grad(set_to_none=False)
            for inputs, targets in group:
                loss = F.mse_loss(model(inputs), targets)
                loss.backward(gradient=torch.tensor(1 / len(group)))
            optimizer.step()
        average(model)


# %% answer="decorated_list_emptied"
@torch.enable_grad()
def train_local_sgd(model, optimizer, micro_batches, k, every, average, rank, world_size):
    own, update = micro_batches[rank::world_size], 0
    micro_batches.clear()
    while own:
        group, own = own[:k], own[k:]
        update += 1
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or not own:
            average(model)
    return model
