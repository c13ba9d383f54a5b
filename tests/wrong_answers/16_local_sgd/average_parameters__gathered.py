# Source: all_gather and a mean
# Every rank gathers all tensors.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            everywhere = [torch.empty_like(tensor) for _ in range(world_size)]
            dist.all_gather(everywhere, tensor)
            tensor.copy_(torch.stack(everywhere).mean(dim=0))
