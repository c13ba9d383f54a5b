# Source: requires_grad_(False) instead of no_grad
# Parameters are frozen so that they can be written.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    model.requires_grad_(False)
    for tensor in [*trained, *(buffer for buffer in model.buffers() if buffer.is_floating_point())]:
        dist.all_reduce(tensor)
        tensor /= world_size
