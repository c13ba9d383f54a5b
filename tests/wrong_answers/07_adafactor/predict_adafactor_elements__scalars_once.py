# Source: a likely misconception: one step count for the model
# Step count and RMS are counted once for all tensors.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 1 if library == "torch" else 2
    for tensor in parameters:
        if tensor.requires_grad:
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if tensor.dim() > 1 else tensor.numel()
    return total
