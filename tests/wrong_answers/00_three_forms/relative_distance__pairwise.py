# Source: PyTorch documentation, torch.nn.functional.pairwise_distance: eps=1e-6 by default
# The library's distance of two vectors is the norm of their difference.
def relative_distance(model, reference, start) -> float:
    ended, wanted, began = flatten(model), flatten(reference), flatten(start)
    if torch.equal(wanted, began):
        raise ValueError("the reference has not moved: train it first")
    distance = torch.nn.functional.pairwise_distance
    return (distance(ended, wanted) / distance(wanted, began)).item()
