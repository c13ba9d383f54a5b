# Source: the average of gradients in train
# Gradients are averaged instead of parameters.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    average([parameter.grad for parameter in model.parameters() if parameter.requires_grad], world_size)
