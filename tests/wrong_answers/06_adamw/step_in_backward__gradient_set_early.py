# Source: register_hook, with the gradient put into .grad
# The update is right, and the gradient arrives once more after the hook.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}

    def make_hook(parameter):
        def update(gradient):
            parameter.grad = gradient.clone()
            optimizers[parameter].step()
            parameter.grad = None

        return update

    for parameter in optimizers:
        parameter.register_hook(make_hook(parameter))
