# Source: one hook for the whole model
# The backward hook of the model runs before any gradient is there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(module, inputs_gradient, outputs_gradient):
        for parameter in module.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    model.register_full_backward_hook(average)
