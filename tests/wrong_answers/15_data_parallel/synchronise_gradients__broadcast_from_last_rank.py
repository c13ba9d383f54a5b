# Source: another source
# All ranks get the weights of the last rank.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=world_size - 1)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
