# Source: a likely slip: step() without zero_grad()
# The next backward adds to the old gradient.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.step()

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
