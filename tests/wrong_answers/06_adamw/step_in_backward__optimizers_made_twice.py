# Source: a likely slip: a line that is there twice
# Each parameter gets two optimizers, and one of them is not used.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}
    optimizers = {parameter: make_optimizer([parameter]) for parameter in optimizers}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)
