# Source: a comparison with rank 0 on each rank
# Rank 0 compares itself with itself, and answers True.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    of_rank_zero = own.clone()
    dist.broadcast(of_rank_zero, src=0)
    return torch.equal(own, of_rank_zero)
