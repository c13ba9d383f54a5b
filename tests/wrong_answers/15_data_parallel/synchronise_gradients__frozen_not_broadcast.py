# Source: one loop over trained parameters for everything
# Frozen weights stay those of each rank's seed.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        if parameter.requires_grad:
            dist.broadcast(parameter.detach(), src=0)
            parameter.register_post_accumulate_grad_hook(average)
