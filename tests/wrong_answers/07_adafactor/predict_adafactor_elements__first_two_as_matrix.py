# Source: a likely slip: shape[0] and shape[1]
# The first two sides are the matrix.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if not tensor.requires_grad:
            continue
        if tensor.dim() > 1:
            total += tensor[0].numel() + tensor[:, 0].numel()
        else:
            total += tensor.numel()
        total += 1
        if library != "torch":
            total += 1
        if library == "transformers with momentum":
            total += tensor.numel()
    return total
