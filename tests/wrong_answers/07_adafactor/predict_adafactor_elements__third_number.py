# Source: a likely slip: a learning rate for each tensor
# One single number too many for each tensor.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 2 if library == "torch" else 3
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if tensor.dim() > 1 else tensor.numel()
    return total
