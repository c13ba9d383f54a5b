# Source: the usual loop, where step() follows backward
# The optimizer is made, and nobody calls its step.
def step_in_backward(model, make_optimizer) -> None:
    model.optimizer = make_optimizer([parameter for parameter in model.parameters() if parameter.requires_grad])
