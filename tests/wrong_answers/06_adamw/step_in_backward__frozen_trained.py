# Source: a likely slip: requires_grad is set for the hook
# Frozen parameters are trained too.
def step_in_backward(model, make_optimizer) -> None:
    model.requires_grad_(True)
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)
