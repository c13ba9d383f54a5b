# Source: parameter.data taken for the gradient
# The hook averages the weights.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.data)
        parameter.data /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
