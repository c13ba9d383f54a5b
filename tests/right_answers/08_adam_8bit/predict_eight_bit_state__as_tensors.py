# Source: the state written down as tensors
# Tensors on the meta device stand for the state.
def predict_eight_bit_state(parameters: list) -> int:
    state, books = [], []
    for parameter in parameters:
        if parameter.requires_grad and parameter.numel() < 4096:
            state += 2 * [torch.empty(parameter.shape, device="meta", dtype=torch.float32)]
        elif parameter.requires_grad:
            state += 2 * [torch.empty(parameter.shape, device="meta", dtype=torch.uint8)]
            state += 2 * [torch.empty((parameter.numel() + 255) // 256, device="meta")]
            books = 2 * [torch.empty(256, device="meta")]
    return sum(tensor.nbytes for tensor in state + books)
