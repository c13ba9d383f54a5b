# %% answer="error_turned"
# an error of Python's turned into the one that is promised
import math


def difference_norm(one, other):
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return math.hypot(*(torch.linalg.vector_norm(p - q).item() for p, q in pairs))


def relative_distance(model, reference, start) -> float:
    try:
        return difference_norm(model, reference) / difference_norm(reference, start)
    except ZeroDivisionError:
        raise ValueError("nothing to compare with: the reference did not move") from None


# %% answer="norm_of_norms"
# the norm of the norms of all tensors, as torch's total gradient norm is computed
def relative_distance(model, reference, start) -> float:
    with torch.no_grad():
        apart = [p.sub(q).norm() for p, q in zip(model.parameters(), reference.parameters())]
        moved = [q.sub(r).norm() for q, r in zip(reference.parameters(), start.parameters())]
        total_apart, total_moved = torch.stack(apart).norm(), torch.stack(moved).norm()
    if total_moved.item() == 0.0:
        raise ValueError("The reference is where it started.")
    return total_apart.item() / total_moved.item()


# %% answer="numpy"
# NumPy in double precision
import numpy as np


def as_array(model):
    return np.concatenate([p.detach().cpu().double().numpy().ravel() for p in model.parameters()])


def relative_distance(model, reference, start) -> float:
    model, reference, start = map(as_array, (model, reference, start))
    movement = np.linalg.norm(reference - start)
    if movement > 0:
        return np.linalg.norm(model - reference) / movement
    raise ValueError(f"the reference moved by {movement}")


# %% answer="squares_added"
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


# %% answer="vectors"
# torch's own flattening, and torch.dist
from torch.nn.utils import parameters_to_vector


@torch.no_grad()
def relative_distance(model, reference, start) -> float:
    ended, wanted, began = (parameters_to_vector(each.parameters()) for each in (model, reference, start))
    if torch.equal(wanted, began):
        raise ValueError("reference and start have equal weights, so there is no movement to compare with")
    return (torch.dist(ended, wanted) / torch.dist(wanted, began)).item()
