# Source: a likely slip: every parameter gets a hook
# A frozen parameter takes no hook: PyTorch raises.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.step()
            optimizer.zero_grad()

        return update

    for parameter in model.parameters():
        if True:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
