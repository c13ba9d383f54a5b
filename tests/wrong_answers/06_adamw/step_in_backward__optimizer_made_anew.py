# Source: a likely slip: the optimizer is made where it is used
# The momentum is lost in every backward.
def step_in_backward(model, make_optimizer) -> None:
    def update(parameter):
        make_optimizer([parameter]).step()
        parameter.grad = None

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(update)
