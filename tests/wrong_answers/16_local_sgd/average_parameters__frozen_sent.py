# Source: the choice comes after the all-reduce
# Frozen parameters are sent, and the result is dropped.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [*model.parameters(), *(buffer for buffer in model.buffers() if buffer.is_floating_point())]
    with torch.no_grad():
        for tensor in tensors:
            mean = tensor.clone()
            dist.all_reduce(mean)
            if tensor.requires_grad or not isinstance(tensor, torch.nn.Parameter):
                tensor.copy_(mean / world_size)
