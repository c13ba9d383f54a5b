# Source: a likely slip: brackets behind the hook
# The result of a call is registered, which is None.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}

    def update(parameter):
        if parameter.grad is not None:
            optimizers[parameter].step()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update(parameter))
