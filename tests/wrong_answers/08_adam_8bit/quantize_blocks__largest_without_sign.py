# Source: max for the largest size
# A negative outlier is not seen.
def quantize_blocks(values, code_book, block_size: int):
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales
