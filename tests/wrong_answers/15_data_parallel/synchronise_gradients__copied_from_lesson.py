# Source: average_after_backward of the lesson, pasted in
# The loop runs before any gradient is there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size
