# Source: the loop after backward, moved into the hook
# Each hook reduces all gradients that are there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(_):
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
