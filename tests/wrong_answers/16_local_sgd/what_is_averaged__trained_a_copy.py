# Source: a model that is to stay as it was
# A copy of the model is trained.
def what_is_averaged(train, model, optimizer) -> str:
    from copy import deepcopy

    gradients = []

    def note(*_):
        gradients.append([None if one.grad is None else one.grad.tolist() for one in model.parameters()])

    hook = optimizer.register_step_pre_hook(note)
    train(deepcopy(model), optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"
