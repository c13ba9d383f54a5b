# Source: clone, for a tensor without a graph
# The broadcast writes into a copy of the weights.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach().clone(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
