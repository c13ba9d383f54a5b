# Source: forgetting the call that talks
# Each rank divides its own gradient.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        parameter.grad.div_(world_size)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
