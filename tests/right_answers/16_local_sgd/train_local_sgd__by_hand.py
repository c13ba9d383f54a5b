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
