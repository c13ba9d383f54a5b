# Source: a likely slip: != for ==
# Momentum is counted for torch too.
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
        if library != "torch":
            total += 1
        if library != "transformers":
            total += tensor.numel()
    return total
