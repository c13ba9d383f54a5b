# Source: a function that returns a new value, where one in place is asked for
# Means are returned, and the model is left as it was.
def average_parameters(model):
    means = []
    for tensor in [*model.parameters(), *model.buffers()]:
        mean = tensor.detach().clone().float()
        dist.all_reduce(mean)
        means.append(mean / dist.get_world_size())
    return means
