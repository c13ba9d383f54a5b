# Source: logging of gradients
# A list keeps each gradient.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}
    gradients = []

    def update(parameter):
        optimizers[parameter].step()
        gradients.append(parameter.grad)
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)
