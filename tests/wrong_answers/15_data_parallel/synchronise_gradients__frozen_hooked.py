# Source: a loop over all parameters
# Frozen parameters get a hook as well.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        parameter.register_post_accumulate_grad_hook(average)
