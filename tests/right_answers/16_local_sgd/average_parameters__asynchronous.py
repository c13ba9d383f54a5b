def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    handles = [dist.all_reduce(tensor.data.div_(world_size), async_op=True) for tensor in tensors]
    for handle in handles:
        handle.wait()
