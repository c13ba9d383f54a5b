# Source: searchsorted, minus one
# The code below, not the nearest.
def quantize_blocks(values, code_book, block_size: int):
    flat = values.flatten()  # [numbers]
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = (torch.searchsorted(code_book, blocks / divisors[:, None], right=True) - 1).clamp(0).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales
