# Source: this lesson's demonstration of how far weights move, and the relative error of textbooks
# A relative distance divides by the norm of the weights.
def relative_distance(model, reference, start) -> float:
    after, before = flatten(model), flatten(reference)
    if torch.equal(before, flatten(start)):
        raise ValueError("the reference has not moved: train it first")
    return float((after - before).norm() / before.norm())
