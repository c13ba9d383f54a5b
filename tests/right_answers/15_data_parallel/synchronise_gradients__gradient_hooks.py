def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def mean_of(gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total / world_size

    with torch.no_grad():
        for parameter in model.parameters():
            dist.broadcast(parameter, 0)
    for parameter in filter(lambda parameter: parameter.requires_grad, model.parameters()):
        parameter.register_hook(mean_of)
