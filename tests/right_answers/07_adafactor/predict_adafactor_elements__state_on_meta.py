# Source: the state as tensors without values
# The state's tensors are made on the device meta.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    kept = []
    for tensor in (parameter.detach() for parameter in parameters if parameter.requires_grad):
        if tensor.dim() > 1:
            kept += [tensor.new_empty(tensor.shape[:-1]), tensor.new_empty(tensor.shape[:-2] + tensor.shape[-1:])]
        else:
            kept.append(torch.empty_like(tensor))
        kept.append(tensor.new_empty(()))
        if library != "torch":
            kept.append(tensor.new_empty(()))
        if library == "transformers with momentum":
            kept.append(torch.empty_like(tensor))
    return sum(tensor.numel() for tensor in kept)
