# Source: the first forward of DDP, thought to send the weights
# The weights are broadcast before each forward, and not when the function is called.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    def spread(module, arguments):
        for parameter in module.parameters():
            dist.broadcast(parameter.detach(), src=0)

    model.register_forward_pre_hook(spread)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
