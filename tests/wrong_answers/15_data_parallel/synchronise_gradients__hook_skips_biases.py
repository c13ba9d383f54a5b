# Source: a rule for small tensors, inside of the hook
# The hook leaves biases alone.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        if parameter.ndim < 2:
            return
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
