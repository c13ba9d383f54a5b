# Source: matrices hold nearly all numbers
# Biases are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.requires_grad and tensor.dim() > 1:
                dist.all_reduce(tensor)
                tensor /= world_size
