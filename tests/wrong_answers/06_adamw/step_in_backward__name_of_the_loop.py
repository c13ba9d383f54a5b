# Source: a late-binding closure in a loop
# All hooks use the optimizer of the last parameter.
def step_in_backward(model, make_optimizer) -> None:
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def update(_):
                optimizer.step()
                optimizer.zero_grad()

            parameter.register_post_accumulate_grad_hook(update)
