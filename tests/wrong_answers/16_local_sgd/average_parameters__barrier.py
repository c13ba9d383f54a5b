# Source: ranks that wait for each other
# A barrier stands before the average.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    dist.barrier()
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
