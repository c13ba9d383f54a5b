# Source: a hook on the first layer, whose gradient comes last
# All gradients wait for one step at the end of backward.
def step_in_backward(model, make_optimizer) -> None:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(trained)
    ready = []

    def update(parameter):
        ready.append(parameter)
        if len(ready) == len(trained):
            ready.clear()
            optimizer.step()
            optimizer.zero_grad()

    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(update)
