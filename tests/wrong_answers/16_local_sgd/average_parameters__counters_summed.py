# Source: only what has fractions is divided
# Counters are summed.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            dist.all_reduce(tensor)
            if tensor.is_floating_point():
                tensor /= world_size
