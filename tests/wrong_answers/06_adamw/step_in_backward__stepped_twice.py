# Source: a likely slip: a hook that is written twice
# Each gradient is used twice.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.step()
            optimizer.step()
            optimizer.zero_grad()

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
