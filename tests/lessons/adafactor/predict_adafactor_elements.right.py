# %% answer="by_division"
# Source: sizes by division
# The number of rows is the number of elements over the last side.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    trained = [tensor for tensor in parameters if tensor.requires_grad]
    numbers = [tensor.numel() for tensor in trained]
    singles = len(trained) * (1 + library.startswith("transformers"))
    means = sum(
        n // tensor.shape[-1] + n // tensor.shape[-2] if tensor.ndim >= 2 else n
        for n, tensor in zip(numbers, trained, strict=True)
    )
    return singles + means + ("momentum" in library) * sum(numbers)


# %% answer="shapes_as_tuples"
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


# %% answer="state_on_meta"
# Source: the state as tensors without values
# The state's tensors are made on the device meta.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    kept = []
    for tensor in (parameter.detach() for parameter in parameters if parameter.requires_grad):
        if tensor.dim() > 1:
            kept += [tensor.new_empty(tensor.shape[:-1]), tensor.new_empty(tensor.shape[:-2] + tensor.shape[-1:])]
        else:
            kept.append(torch.empty_like(tensor))
        kept.append(tensor.new_empty(()))
        if library != "torch":
            kept.append(tensor.new_empty(()))
        if library == "transformers with momentum":
            kept.append(torch.empty_like(tensor))
    return sum(tensor.numel() for tensor in kept)
