# a loop over named parameters, with one sum of squares for each norm
def relative_distance(model, reference, start) -> float:
    ended, began = dict(model.named_parameters()), dict(start.named_parameters())
    squares_apart = squares_moved = 0.0
    for name, wanted in reference.named_parameters():
        squares_apart += (ended[name] - wanted).square().sum().item()
        squares_moved += (wanted - began[name]).square().sum().item()
    if not squares_moved:
        raise ValueError("the reference has the weights of the start")
    return (squares_apart / squares_moved) ** 0.5
