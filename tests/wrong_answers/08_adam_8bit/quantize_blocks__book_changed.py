# Source: the CPU kernel of older versions of bitsandbytes
# The first number of the book is overwritten.
def quantize_blocks(values, code_book, block_size: int):
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    code_book[0] = -1.5
    return codes.flatten()[: len(flat)].view(values.shape), scales
