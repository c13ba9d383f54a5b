# Source: accelerate/local_sgd.py averages frozen parameters too
# Frozen parameters are averaged.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [*model.parameters(), *(buffer for buffer in model.buffers() if buffer.is_floating_point())]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
