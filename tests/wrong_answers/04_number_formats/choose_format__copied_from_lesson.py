# Source: the lesson's table of usual formats
# bf16 for all tensors.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    smallest, largest = values.abs().min(), values.abs().max()
    return "bf16"
