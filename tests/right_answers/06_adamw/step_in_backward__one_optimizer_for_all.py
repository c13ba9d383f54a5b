# Source: an optimizer skips what has no gradient
# One optimizer steps in every hook: only one parameter has a gradient then.
def step_in_backward(model, make_optimizer) -> None:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(trained)

    def update(parameter):
        optimizer.step()
        parameter.grad = None

    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(update)
