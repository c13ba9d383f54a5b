# Source: a likely misconception: a convolution as a matrix of output channels
# All dimensions but the first are columns.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += tensor.shape[0] + tensor.numel() // tensor.shape[0] if tensor.dim() > 1 else tensor.numel()
    return total
