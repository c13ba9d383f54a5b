# Source: a closure over a loop variable
# Each hook reduces the parameter that the loop ended with.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:

            def average(_):
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size

            parameter.register_post_accumulate_grad_hook(average)
