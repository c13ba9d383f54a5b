# Source: the loop of the lesson, at the wrong time
# The gradients are all-reduced before there are any.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size
