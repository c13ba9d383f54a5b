# Source: the norm as digest
# A norm in 64 bits forgets signs and order.
def ranks_agree(model) -> bool:
    own = sum(parameter.detach().double().square().sum() for parameter in model.parameters()).sqrt()
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
