# Source: a likely slip: == for !=
# The RMS is left out with momentum.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if not tensor.requires_grad:
            continue
        if tensor.dim() > 1:
            total += tensor[..., 0].numel() + tensor[..., 0, :].numel()
        else:
            total += tensor.numel()
        total += 1
        if library == "transformers":
            total += 1
        if library == "transformers with momentum":
            total += tensor.numel()
    return total
