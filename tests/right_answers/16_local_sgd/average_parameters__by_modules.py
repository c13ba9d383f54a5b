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
