# Source: a hook that clears what it has read
# The list holds the tensors that zero_grad sets to zero.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append([parameter.grad for parameter in model.parameters()])
        model.zero_grad(set_to_none=False)

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    gradients = [[one.tolist() for one in step] for step in gradients]
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"
