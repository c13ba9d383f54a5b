def what_is_averaged(train, model, optimizer) -> str:
    gradients, step = [], optimizer.step

    def counted(*arguments, **keywords):
        gradients.append([parameter.grad.tolist() for parameter in model.parameters()])
        return step(*arguments, **keywords)

    optimizer.step = counted
    train(model, optimizer)
    optimizer.step = step
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, [parameter.tolist() for parameter in model.parameters()]))
    if len({len(steps) for steps, _ in everywhere}) > 1:
        return "driver"
    first, end = everywhere[0]
    if all(steps == first for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(one == end for _, one in everywhere) else "nothing"
