# Source: rank 0 taken for a driver whose gradient counts
# All ranks take the gradient of rank 0.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.broadcast(parameter.grad, src=0)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
