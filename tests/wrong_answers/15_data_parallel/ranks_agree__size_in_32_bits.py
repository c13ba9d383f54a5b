# Source: the gradient norm that trainers log
# A norm in 32 bits also rounds small differences away.
def ranks_agree(model) -> bool:
    own = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).norm()
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
