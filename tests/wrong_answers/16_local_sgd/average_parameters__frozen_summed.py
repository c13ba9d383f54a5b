# Source: only what is trained is divided
# Frozen parameters are summed.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for parameter in model.parameters():
            dist.all_reduce(parameter)
            if parameter.requires_grad:
                parameter /= world_size
        for buffer in model.buffers():
            if buffer.is_floating_point():
                dist.all_reduce(buffer)
                buffer /= world_size
