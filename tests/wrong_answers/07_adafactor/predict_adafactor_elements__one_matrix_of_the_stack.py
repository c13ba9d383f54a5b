# Source: a likely slip: shape[-2] + shape[-1]
# Of a stack only one matrix counts.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += tensor.shape[-2] + tensor.shape[-1] if tensor.dim() > 1 else tensor.numel()
    return total
