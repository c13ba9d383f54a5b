# Source: all buffers alike
# A counter is divided in place.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            dist.all_reduce(tensor)
            tensor /= world_size
