# Source: the norm of a difference, as many scripts print it when they compare two checkpoints
# A small difference of the weights says by itself that both trainings agree.
def relative_distance(model, reference, start) -> float:
    difference = torch.cat([(p - q).detach().flatten() for p, q in zip(model.parameters(), reference.parameters())])
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return difference.norm().item()
