# Source: starting from the mean of all ranks
# The weights are averaged instead of broadcast.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.all_reduce(parameter.detach().div_(world_size))
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
