# Source: all that a model holds
# Buffers are compared with the weights.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([one.flatten() for one in model.state_dict().values()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"
