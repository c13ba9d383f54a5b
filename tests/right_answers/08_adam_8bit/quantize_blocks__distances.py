# Source: the definition, literally
# All distances to all codes, and the smallest of them.
def quantize_blocks(values, code_book, block_size: int):
    flat, rest = values.reshape(-1), -values.numel() % block_size
    blocks = torch.cat([flat, flat.new_zeros(rest)]).reshape(-1, block_size)
    scales, _ = blocks.abs().max(dim=1)
    scaled = blocks / scales.clamp(min=1e-30).unsqueeze(1)
    codes = (scaled.unsqueeze(2) - code_book).abs().argmin(dim=2).to(torch.uint8)
    return codes.reshape(-1)[: flat.numel()].reshape(values.shape), scales
