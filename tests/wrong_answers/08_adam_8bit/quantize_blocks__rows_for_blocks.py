# Source: quantization by rows
# Each row of the last dimension is a block.
def quantize_blocks(values, code_book, block_size: int):
    borders = (code_book[1:] + code_book[:-1]) / 2
    rows = values.reshape(-1, values.shape[-1])
    scales = rows.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    return torch.bucketize(rows / divisors[:, None], borders).to(torch.uint8).view(values.shape), scales
