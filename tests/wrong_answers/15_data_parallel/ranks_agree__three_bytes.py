# Source: a digest as a number of 24 bits
# Three bytes of the digest are compared.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor([int.from_bytes(digest.digest()[:3], "big")])
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
