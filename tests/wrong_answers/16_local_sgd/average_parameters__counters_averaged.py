# Source: a floor division makes whole numbers
# Counters and masks are averaged too.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            mean = tensor.float()
            dist.all_reduce(mean)
            tensor.copy_(mean / world_size)
