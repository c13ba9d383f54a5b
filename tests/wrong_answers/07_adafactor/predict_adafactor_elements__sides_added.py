# Source: a likely misconception: one vector for each dimension
# A stack has the sum of its sides.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += sum(tensor.shape) if tensor.dim() > 1 else tensor.numel()
    return total
