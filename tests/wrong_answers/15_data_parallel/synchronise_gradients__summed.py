# Source: an all-reduce taken for a mean
# The gradients are added and not divided.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
