# Source: a likely slip: the norm is taken first
# The norm of a difference is the difference of the norms.
def norm_of(weights):
    return torch.cat([p.detach().flatten() for p in weights.parameters()]).norm().item()


def relative_distance(model, reference, start) -> float:
    moved = abs(norm_of(reference) - norm_of(start))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return abs(norm_of(model) - norm_of(reference)) / moved
