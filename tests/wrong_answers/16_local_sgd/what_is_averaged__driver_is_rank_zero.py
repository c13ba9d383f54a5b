# Source: rank 0 is the driver
# A driver is looked for on rank 0 only.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if everywhere[0][0] and not any(steps for steps, _ in everywhere[1:]):
        return "driver"
    steps_of_all = [steps for steps, _ in everywhere if steps]
    if all(steps == steps_of_all[0] for steps in steps_of_all):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"
