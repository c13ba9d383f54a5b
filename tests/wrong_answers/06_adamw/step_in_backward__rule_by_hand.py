# Source: the rule of SGD, written into the hook
# make_optimizer is never called.
def step_in_backward(model, make_optimizer) -> None:
    def update(parameter):
        with torch.no_grad():
            parameter -= 1e-3 * parameter.grad
        parameter.grad = None

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(update)
