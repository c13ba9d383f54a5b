# Source: a driver node that hands out its parameters
# All ranks get the values of rank 0.
def average_parameters(model) -> None:
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.broadcast(tensor, src=0)
