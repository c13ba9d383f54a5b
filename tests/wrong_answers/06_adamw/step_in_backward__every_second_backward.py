# Source: gradient accumulation
# The hooks act in every second backward.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}
    counts = dict.fromkeys(optimizers, 0)

    def update(parameter):
        counts[parameter] += 1
        if counts[parameter] % 2 == 0:
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)
