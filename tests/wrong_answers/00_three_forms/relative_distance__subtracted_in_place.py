# Source: a likely slip: sub_ saves a line
# Parameters may be overwritten once the training is over.
@torch.no_grad()
def relative_distance(model, reference, start) -> float:
    apart = torch.cat([p.sub_(q).flatten() for p, q in zip(model.parameters(), reference.parameters())]).norm()
    moved = torch.cat([q.sub_(r).flatten() for q, r in zip(reference.parameters(), start.parameters())]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float(apart / moved)
