# %% answer="as_tensors"
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


# %% answer="ceil"
# Source: math.ceil and a function for one tensor
def predict_eight_bit_state(parameters: list) -> int:
    import math

    def of_tensor(numbers):
        if numbers < 4096:
            return 2 * numbers * 4
        return 2 * (numbers + 4 * math.ceil(numbers / 256))

    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    return torch.tensor(sum(map(of_tensor, sizes)) + 8 * 256 * any(size >= 4096 for size in sizes))


# %% answer="loop"
# Source: a loop with counters
# One pass with four sums.
def predict_eight_bit_state(parameters: list) -> int:
    total, is_any_large = 0, False
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        numbers = parameter.numel()
        if numbers < 4096:
            total += 8 * numbers
            continue
        is_any_large = True
        full, rest = divmod(numbers, 256)
        total += 2 * (numbers + 4 * (full + (rest > 0)))
    return total + 2048 * is_any_large
