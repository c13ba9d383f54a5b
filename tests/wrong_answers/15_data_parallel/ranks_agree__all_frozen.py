# Source: requires_grad_ in place of detach
# The parameters are frozen for good.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    model.requires_grad_(False)
    for parameter in model.parameters():
        digest.update(parameter.numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
