# Source: torch.tensor of a float
# The number format keeps 24 bits of the 32.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor([float(int.from_bytes(digest.digest()[:4], "big"))])
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
