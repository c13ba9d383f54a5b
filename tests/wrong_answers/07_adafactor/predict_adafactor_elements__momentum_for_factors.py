# Source: a likely misconception: momentum ends the factoring
# With momentum the second moment is whole.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            if library == "transformers with momentum":
                total += 2 * tensor.numel()
            else:
                total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if tensor.dim() > 1 else tensor.numel()
    return total
