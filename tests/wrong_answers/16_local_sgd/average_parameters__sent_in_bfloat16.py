# Source: half of the bytes
# Each number is sent in two bytes, and rounded.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            total = tensor.bfloat16()
            dist.all_reduce(total)
            tensor.copy_(total / world_size)
