def ranks_agree(model) -> bool:
    total = torch.zeros(1, dtype=torch.int64)
    position = 0
    for parameter in model.parameters():
        bits = parameter.detach().flatten().view(torch.int32).long()
        places = torch.arange(position, position + bits.numel())
        total += ((bits + 7) * (places * 2654435761 + 12345)).sum()
        position += bits.numel()
    pair = torch.cat([total, -total])
    dist.all_reduce(pair, op=dist.ReduceOp.MAX)
    return (pair[0] == -pair[1]).item()
