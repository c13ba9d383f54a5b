# Source: a likely slip: dim() == 2
# Only tensors of two dimensions are factored.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if tensor.dim() == 2 else tensor.numel()
    return total
