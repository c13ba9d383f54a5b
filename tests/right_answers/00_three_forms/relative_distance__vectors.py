# torch's own flattening, and torch.dist
from torch.nn.utils import parameters_to_vector


@torch.no_grad()
def relative_distance(model, reference, start) -> float:
    ended, wanted, began = (parameters_to_vector(each.parameters()) for each in (model, reference, start))
    if torch.equal(wanted, began):
        raise ValueError("reference and start have equal weights, so there is no movement to compare with")
    return (torch.dist(ended, wanted) / torch.dist(wanted, began)).item()
