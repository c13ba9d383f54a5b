# Right answers to merge_tile.

# %% answer="keepdim"
def merge_tile(highest, total, mixed, scores, value):
    above = scores.max(dim=-1, keepdim=True).values.maximum(highest[..., None])
    weights, shrink = (scores - above).exp(), (highest[..., None] - above).exp()
    total = (shrink * total[..., None] + weights.sum(-1, keepdim=True)).squeeze(-1)
    return above.squeeze(-1), total, torch.einsum("...qk,...kd->...qd", weights, value) + mixed * shrink


# %% answer="one_more_column"
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.cat([highest.unsqueeze(-1), scores], dim=-1).amax(dim=-1)
    shrink = (highest - new_highest).exp()
    weights = (scores - new_highest.unsqueeze(-1)).exp()
    return new_highest, torch.addcmul(weights.sum(-1), shrink, total), mixed * shrink.unsqueeze(-1) + weights @ value


# %% answer="by_logarithms"
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    before = highest + total.log()
    new_total = torch.exp(torch.logaddexp(before, scores.logsumexp(dim=-1)) - new_highest)
    weights = torch.exp(scores - new_highest.unsqueeze(-1))
    return new_highest, new_total, torch.exp(highest - new_highest).unsqueeze(-1) * mixed + weights @ value
