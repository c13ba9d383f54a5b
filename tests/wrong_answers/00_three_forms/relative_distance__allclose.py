# Source: torch.allclose in the tests of many repositories
# Two trainings agree or they do not.
def relative_distance(model, reference, start) -> float:
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return all(torch.allclose(p, q, rtol=1e-4) for p, q in zip(model.parameters(), reference.parameters()))
