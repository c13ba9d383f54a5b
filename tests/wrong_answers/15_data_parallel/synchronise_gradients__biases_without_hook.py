# Source: only matrices in mind
# The gradients of biases stay those of each rank.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad and parameter.dim() > 1:
            parameter.register_post_accumulate_grad_hook(average)
