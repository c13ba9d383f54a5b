# Source: hooks that remove themselves
# The hooks act in the first backward only.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}
    handles = {}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
        handles[parameter].remove()

    for parameter in optimizers:
        handles[parameter] = parameter.register_post_accumulate_grad_hook(update)
