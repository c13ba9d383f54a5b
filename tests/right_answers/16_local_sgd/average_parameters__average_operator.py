def average_parameters(model) -> None:
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.requires_grad or (tensor.is_floating_point() and not isinstance(tensor, torch.nn.Parameter)):
            dist.all_reduce(tensor.detach(), op=dist.ReduceOp.AVG)
