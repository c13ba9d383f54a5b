# Source: zero_grad(set_to_none=False)
# The gradients stay as zeros, and take their memory.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
