# Source: a mean that is divided again
# Each tensor is divided before and after the all-reduce.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            tensor /= world_size
            dist.all_reduce(tensor)
            tensor /= world_size
