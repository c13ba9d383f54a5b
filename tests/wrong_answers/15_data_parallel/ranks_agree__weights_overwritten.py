# Source: a broadcast into the parameters
# The weights of rank 0 are written into all models.
def ranks_agree(model) -> bool:
    before = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    after = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    answer = torch.tensor([int(torch.equal(before, after))])
    dist.all_reduce(answer, op=dist.ReduceOp.MIN)
    return bool(answer)
