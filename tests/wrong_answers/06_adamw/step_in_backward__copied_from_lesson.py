# Source: make_update of the lesson, pasted
# The lesson's own update of another model runs once.
def step_in_backward(model, make_optimizer) -> None:
    job = make_update_of(model, make_optimizer)
    job()


def make_update_of(model, make_optimizer):
    optimizer = make_optimizer([parameter for parameter in model.parameters() if parameter.requires_grad])

    def step():
        optimizer.zero_grad()
        width = next(parameter for parameter in model.parameters() if parameter.dim() > 1).shape[1]
        model(torch.ones(2, width, device=device)).square().mean().backward()
        optimizer.step()

    return step
