# Source: the built-in hash
# hash() of bytes has another salt in each process.
def ranks_agree(model) -> bool:
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    own = torch.tensor([hash(weights)])
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
