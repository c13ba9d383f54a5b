# Source: a method that is replaced and not put back
# optimizer.step stays wrapped.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    step = optimizer.step

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
        return step()

    optimizer.step = note
    train(model, optimizer)
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
