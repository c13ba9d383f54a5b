# Source: hooks on parameters
# Gradients are read in backward, before they are averaged.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []
    hooks = [
        parameter.register_post_accumulate_grad_hook(lambda one: gradients.append(one.grad.flatten().clone()))
        for parameter in model.parameters()
    ]
    train(model, optimizer)
    for hook in hooks:
        hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
