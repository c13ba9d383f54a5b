# Source: named_parameters(remove_duplicate=False)
# A tied weight is averaged under each of its names.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
