# Source: buffers chosen by the names of one layer
# Only running_mean and running_var are averaged.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [one for name, one in model.named_buffers() if name.endswith(("running_mean", "running_var"))]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
