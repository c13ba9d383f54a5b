# Source: a hook on a frozen parameter, which PyTorch refuses
# Frozen parameters are unfrozen so that they take a hook.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        parameter.requires_grad_(True)
        if True:
            parameter.register_post_accumulate_grad_hook(average)
