# Source: a sum as digest
# The float32 sum of all weights is compared.
def ranks_agree(model) -> bool:
    own = sum(parameter.detach().sum() for parameter in model.parameters())
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
