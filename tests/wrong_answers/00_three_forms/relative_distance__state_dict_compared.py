# Source: scripts that compare two checkpoints key by key
# A state_dict holds the parameters of a model and nothing else.
def relative_distance(model, reference, start) -> float:
    states = [each.state_dict() for each in (model, reference, start)]
    flat = [torch.cat([value.flatten().float() for value in state.values()]) for state in states]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[1]).norm() / moved)
