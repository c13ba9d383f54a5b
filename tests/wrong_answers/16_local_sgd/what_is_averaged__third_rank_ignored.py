# Source: two ranks, as in the example
# Only ranks 0 and 1 are compared.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
    everywhere = everywhere[:2]
    if bool(everywhere[0][0]) != bool(everywhere[1][0]):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
