# Source: a likely slip: .grad for requires_grad
# Tensors without .grad are left out, which are all.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.grad is None:
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
