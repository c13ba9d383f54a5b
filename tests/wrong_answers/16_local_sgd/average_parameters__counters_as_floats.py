# Source: register_buffer with the mean
# Counters become floats.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm1d):
                module.num_batches_tracked = module.num_batches_tracked.float()
