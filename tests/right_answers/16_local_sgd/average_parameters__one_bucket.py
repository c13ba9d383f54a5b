def average_parameters(model) -> None:
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    with torch.no_grad():
        for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
            tensor.copy_(part.view_as(tensor))
