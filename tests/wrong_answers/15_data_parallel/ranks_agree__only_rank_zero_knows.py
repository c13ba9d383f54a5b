# Source: a gather on rank 0
# Rank 0 knows, and the others answer True.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    return dist.get_rank() > 0 or all(torch.equal(own, other) for other in everyone)
