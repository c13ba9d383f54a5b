# Source: torch.allclose with rank 0
# A tolerance lets the last bits differ.
def ranks_agree(model) -> bool:
    is_near = True
    for parameter in model.parameters():
        other = parameter.detach().clone()
        dist.broadcast(other, src=0)
        is_near = is_near and torch.allclose(other, parameter.detach(), rtol=1e-5)
    answer = torch.tensor([float(is_near)])
    dist.all_reduce(answer, op=dist.ReduceOp.MIN)
    return bool(answer.item())
