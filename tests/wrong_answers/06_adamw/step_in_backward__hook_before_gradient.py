# Source: register_hook, the better known hook
# The hook runs before the gradient is added to .grad.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.step()
            parameter.grad = None

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(make_hook(make_optimizer([parameter]), parameter))
