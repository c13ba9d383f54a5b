# Source: care for rounding
# Twice the bytes: the gradients are reduced in float64.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        wide = parameter.grad.double()
        dist.all_reduce(wide)
        parameter.grad.copy_(wide / world_size)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
