# Source: an all-reduce of a copy
# The mean is computed and thrown away.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            mean = tensor.clone()
            dist.all_reduce(mean)
            mean /= world_size
