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
