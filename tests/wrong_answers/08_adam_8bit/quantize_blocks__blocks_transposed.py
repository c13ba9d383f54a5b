# Source: view(block_size, -1)
# Numbers of a block are far apart.
def quantize_blocks(values, code_book, block_size: int):
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(block_size, -1).t()
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.t().flatten()[: len(flat)].view(values.shape), scales
