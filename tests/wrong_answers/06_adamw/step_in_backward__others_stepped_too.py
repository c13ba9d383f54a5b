# Source: one optimizer for all, without zero_grad
# Each hook steps every parameter whose gradient is there.
def step_in_backward(model, make_optimizer) -> None:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(trained)
    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(lambda _: optimizer.step())
