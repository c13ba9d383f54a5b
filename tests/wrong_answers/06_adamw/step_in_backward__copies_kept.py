# Source: a hook that keeps a history of the weights
# The hooks keep a copy of every weight.
def step_in_backward(model, make_optimizer) -> None:
    kept = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def update(parameter, optimizer=optimizer):
                kept[parameter] = parameter.detach().clone()
                optimizer.step()
                optimizer.zero_grad()

            parameter.register_post_accumulate_grad_hook(update)
