# %% answer="dict_of_optimizers"
# Source: the tutorial of PyTorch
def step_in_backward(model, make_optimizer) -> None:
    trained = filter(lambda parameter: parameter.requires_grad, model.parameters())
    optimizers = {parameter: make_optimizer([parameter]) for parameter in trained}

    def update(parameter) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)


# %% answer="one_optimizer_for_all"
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


# %% answer="partial"
# Source: functools.partial
# A function of two arguments, the first of them bound.
from functools import partial


def step_in_backward(model, make_optimizer) -> None:
    def update(optimizer, parameter):
        optimizer.step()
        parameter.grad = None

    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        parameter.register_post_accumulate_grad_hook(partial(update, make_optimizer([parameter])))
