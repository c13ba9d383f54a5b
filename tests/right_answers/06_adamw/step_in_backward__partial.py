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
