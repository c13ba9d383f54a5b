# Source: torch.nn.Module.register_full_backward_hook
# The hooks of modules run before the gradients of the first layer are there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(module, inputs_gradient, outputs_gradient):
        for parameter in module.parameters(recurse=False):
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    for module in model.modules():
        module.register_full_backward_hook(average)
