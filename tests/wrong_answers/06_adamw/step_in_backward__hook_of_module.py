# Source: hooks of modules, which are better known
# Modules are hooked, whose hooks run before the gradients of parameters are there.
def step_in_backward(model, make_optimizer) -> None:
    for module in model.modules():
        own = [parameter for parameter in module.parameters(recurse=False) if parameter.requires_grad]
        if own:
            optimizer = make_optimizer(own)

            def update(_, __, ___, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            module.register_full_backward_hook(update)
