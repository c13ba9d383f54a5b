# Source: a sum in which each place has a weight
# A weighted sum of the numbers, which NaN and -0 do not survive.
def ranks_agree(model) -> bool:
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).double()
    own = (weights * torch.arange(1, len(weights) + 1)).sum().reshape(1)
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
