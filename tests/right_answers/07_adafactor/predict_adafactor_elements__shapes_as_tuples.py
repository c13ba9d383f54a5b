# Source: the shape as a tuple
# Products of sides, without indexing a tensor.
import math


def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        shape = tuple(parameter.shape)
        kept = [shape[:-1], shape[:-2] + shape[-1:]] if len(shape) > 1 else [shape]
        kept += [shape] if library.endswith("momentum") else []
        kept += [()] if library == "torch" else [(), ()]
        total += sum(math.prod(sides) for sides in kept)
    return total
