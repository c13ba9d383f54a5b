# Source: reduce in place of all_reduce
# Rank 0 alone gets the sum.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.reduce(tensor, 0)
            tensor /= world_size
