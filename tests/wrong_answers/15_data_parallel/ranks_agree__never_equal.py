# Source: a digest that knows the rank
# The rank enters the digest, so no two are equal.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256(bytes([dist.get_rank()]))
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
