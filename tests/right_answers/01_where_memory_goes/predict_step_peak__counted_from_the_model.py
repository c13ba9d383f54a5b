# Source: parameters counted from the chain itself
# The shapes of the parameters are read from a model without memory.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    with torch.device("meta"):
        model = make_chain(blocks, width, hidden)
    tensors = list(model.parameters())
    parameters = sum(tensor.numel() for tensor in tensors)
    largest = max(tensor.numel() for tensor in tensors)
    held = parameters * 3 + len(tensors) + batch * width
    forward = blocks * (2 * batch * hidden + batch * width)
    peaks = [held + forward + batch * hidden + largest + width + 2, held + parameters + 2 * largest + hidden]
    return max(peaks) * tensors[0].element_size()
