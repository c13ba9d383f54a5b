# Source: a gradient that is multiplied by the number of micro-batches
# The gradient is 4 times too large.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            parameter.grad *= 4
            optimizer.step()
            optimizer.zero_grad()

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
