# Source: a likely slip: all other sides as rows
# All sides but the last are one side.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if not tensor.requires_grad:
            continue
        if tensor.dim() > 1:
            total += tensor.numel() // tensor.shape[-1] + tensor.shape[-1]
        else:
            total += tensor.numel()
        total += 1
        if library != "torch":
            total += 1
        if library == "transformers with momentum":
            total += tensor.numel()
    return total
