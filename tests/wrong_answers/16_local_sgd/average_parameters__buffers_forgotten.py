# Source: accelerate/local_sgd.py: model.parameters()
# Running statistics are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                dist.all_reduce(parameter)
                parameter /= world_size
