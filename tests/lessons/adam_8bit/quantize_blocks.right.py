# %% answer="distances"
# Source: the definition, literally
# All distances to all codes, and the smallest of them.
def quantize_blocks(values, code_book, block_size: int):
    flat, rest = values.reshape(-1), -values.numel() % block_size
    blocks = torch.cat([flat, flat.new_zeros(rest)]).reshape(-1, block_size)
    scales, _ = blocks.abs().max(dim=1)
    scaled = blocks / scales.clamp(min=1e-30).unsqueeze(1)
    codes = (scaled.unsqueeze(2) - code_book).abs().argmin(dim=2).to(torch.uint8)
    return codes.reshape(-1)[: flat.numel()].reshape(values.shape), scales


# %% answer="scale_of_each"
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


# %% answer="split"
# Source: a loop over blocks
# torch.split makes the blocks, the last one short.
def quantize_blocks(values, code_book, block_size: int):
    codes, scales = [], []
    for block in values.flatten().split(block_size):
        scale = block.abs().max()
        scaled = block / scale if scale > 0 else block
        codes.append(torch.bucketize(scaled, (code_book[1:] + code_book[:-1]) / 2))
        scales.append(scale)
    return torch.cat(codes).to(torch.uint8).reshape(values.shape), torch.stack(scales)
