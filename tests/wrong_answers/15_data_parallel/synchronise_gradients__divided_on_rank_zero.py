# Source: rank 0 taken for the one that averages
# The other ranks keep the sum.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad)
        if dist.get_rank() == 0:
            parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
