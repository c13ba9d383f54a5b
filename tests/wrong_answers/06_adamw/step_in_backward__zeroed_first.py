# Source: a likely slip: the two lines in the other order
# The gradient is gone when the optimizer steps.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.zero_grad()
            optimizer.step()

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
