# Source: the gradients that are left at the end
# Only the gradient of the last step is kept.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients[:] = [torch.cat([parameter.grad.flatten() for parameter in model.parameters()])]

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
