# Source: a likely slip: a filter written into the list
# Frozen tensors are removed from the list that was handed over.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    parameters[:] = [tensor for tensor in parameters if tensor.requires_grad]
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
        if library == "transformers with momentum":
            total += tensor.numel()
    return total
