# Source: all-reduced once, divided by name
# A tied weight is divided under each of its names.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
        for _, parameter in model.named_parameters(remove_duplicate=False):
            if parameter.requires_grad:
                parameter /= world_size
        for buffer in model.buffers():
            if buffer.is_floating_point():
                buffer /= world_size
