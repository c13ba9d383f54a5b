# Source: async_op without wait
# Nobody waits for the all-reduces.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            tensor /= world_size
        for tensor in tensors:
            dist.all_reduce(tensor, async_op=True)
