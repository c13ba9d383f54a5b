# Source: a likely slip: only weights are trained in the hook
# Parameters of one dimension get no hook.
def step_in_backward(model, make_optimizer) -> None:
    def make_hook(optimizer, parameter):
        def update(_):
            optimizer.step()
            optimizer.zero_grad()

        return update

    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dim() > 1:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]), parameter))
