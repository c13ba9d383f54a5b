# %% answer="asynchronous"
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    handles = [dist.all_reduce(tensor.data.div_(world_size), async_op=True) for tensor in tensors]
    for handle in handles:
        handle.wait()


# %% answer="average_operator"
def average_parameters(model) -> None:
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.requires_grad or (tensor.is_floating_point() and not isinstance(tensor, torch.nn.Parameter)):
            dist.all_reduce(tensor.detach(), op=dist.ReduceOp.AVG)


# %% answer="by_modules"
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    seen = set()
    for module in model.modules():
        for tensor in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
            is_frozen = isinstance(tensor, torch.nn.Parameter) and not tensor.requires_grad
            if id(tensor) in seen or is_frozen or not torch.is_floating_point(tensor):
                continue
            seen.add(id(tensor))
            mean = tensor.detach().clone()
            dist.all_reduce(mean)
            tensor.data = mean / world_size


# %% answer="decorated"
@torch.no_grad()
def average_parameters(model):
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= world_size
    return model


# %% answer="one_bucket"
def average_parameters(model) -> None:
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    with torch.no_grad():
        for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
            tensor.copy_(part.view_as(tensor))
