# Source: buffers taken from state_dict()
# Buffers that are not persistent are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [one for name, one in model.named_buffers() if name in model.state_dict() and one.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
