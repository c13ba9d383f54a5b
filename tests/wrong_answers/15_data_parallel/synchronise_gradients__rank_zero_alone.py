# Source: a condition for what one rank prints
# Only rank 0 calls all_reduce, and waits for the others.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad and dist.get_rank() == 0:
            parameter.register_post_accumulate_grad_hook(average)
