# Source: reduce for all_reduce
# Only rank 0 gets the sum.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.reduce(parameter.grad.div_(world_size), dst=0)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
