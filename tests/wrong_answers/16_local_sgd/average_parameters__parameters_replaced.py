# Source: a new Parameter for the mean
# Parameters become new objects.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None and parameter.requires_grad:
                module._parameters[name] = torch.nn.Parameter(parameter.detach().clone())
