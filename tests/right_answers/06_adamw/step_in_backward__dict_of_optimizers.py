# Source: the tutorial of PyTorch
# A dict from parameter to optimizer, and one hook.
def step_in_backward(model, make_optimizer) -> None:
    trained = filter(lambda parameter: parameter.requires_grad, model.parameters())
    optimizers = {parameter: make_optimizer([parameter]) for parameter in trained}

    def update(parameter) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)
