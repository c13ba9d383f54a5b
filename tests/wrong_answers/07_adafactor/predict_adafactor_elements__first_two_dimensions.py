# Source: a likely misconception: the first two dimensions as rows
# All dimensions but the first two are columns.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            if tensor.dim() > 2:
                rows = tensor.shape[0] * tensor.shape[1]
                total += rows + tensor.numel() // rows
            else:
                total += sum(tensor.shape) if tensor.dim() else 1
    return total
