# Source: the filter by requires_grad that many scripts hand to the optimizer
# A frozen parameter cannot differ, so it need not be compared.
def relative_distance(model, reference, start) -> float:
    vectors = []
    for each in (model, reference, start):
        trained = [p.detach().flatten() for p in each.parameters() if p.requires_grad]
        vectors.append(torch.cat(trained))
    moved = torch.dist(vectors[1], vectors[2])
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float(torch.dist(vectors[0], vectors[1]) / moved)
