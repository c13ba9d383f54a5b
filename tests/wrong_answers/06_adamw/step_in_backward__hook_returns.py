# Source: a lambda with both calls in a tuple
# The hook returns something, which backward does not take.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}

    for parameter, optimizer in optimizers.items():
        parameter.register_post_accumulate_grad_hook(lambda _, own=optimizer: (own.step(), own.zero_grad()))
