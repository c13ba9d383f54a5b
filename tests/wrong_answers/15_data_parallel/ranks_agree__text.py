# Source: str(parameter) as bytes
# The text of a large tensor is shortened.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(str(parameter).encode())
    own = torch.tensor([int.from_bytes(digest.digest()[:7], "big")])
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
