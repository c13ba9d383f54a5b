# Source: two loops of which one forgets the division
# Running statistics are summed.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                dist.all_reduce(parameter)
                parameter /= world_size
        for buffer in model.buffers():
            if buffer.is_floating_point():
                dist.all_reduce(buffer)
