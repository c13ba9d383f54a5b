# Source: the comparison of the lesson, with all weights of all ranks
# All weights are gathered on every rank.
def ranks_agree(model) -> bool:
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everyone = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, weights)
    return max(float((weights - others).abs().max()) for others in everyone) == 0
