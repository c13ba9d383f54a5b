# Source: gradients that are left behind
# Gradients are read once, when train has ended.
def what_is_averaged(train, model, optimizer) -> str:
    train(model, optimizer)
    gradients = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if all(last == everywhere[0][0] for last, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
