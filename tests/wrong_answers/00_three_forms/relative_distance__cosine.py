# Source: cosine similarity, which papers on model merging compare task vectors with
# Two models that moved in the same direction have the same weights.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[1], flat[2]):
        raise ValueError("the reference has not moved: train it first")
    return 1 - torch.cosine_similarity(flat[0] - flat[2], flat[1] - flat[2], dim=0).item()
