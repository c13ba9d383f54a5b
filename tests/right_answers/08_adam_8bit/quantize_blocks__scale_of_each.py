# Source: one division in the shape of the values
# Each number's scale is written out.
def quantize_blocks(values, code_book, block_size: int):
    numbers = values.numel()
    place = torch.arange(numbers, device=values.device) // block_size
    scales = torch.zeros(-(-numbers // block_size), device=values.device)
    scales.scatter_reduce_(0, place, values.flatten().abs(), "amax")
    scaled = torch.nan_to_num(values.flatten() / scales[place])
    upper = torch.searchsorted(code_book, scaled.contiguous()).clamp(1, len(code_book) - 1)
    is_lower = scaled - code_book[upper - 1] < code_book[upper] - scaled
    return (upper - is_lower.long()).to(torch.uint8).view(values.shape), scales
