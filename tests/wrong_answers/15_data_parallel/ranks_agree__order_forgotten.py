# Source: a sum in 64 bits as digest
# The sum sees small differences and no swapped numbers.
def ranks_agree(model) -> bool:
    own = sum(parameter.detach().double().sum() for parameter in model.parameters())
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
