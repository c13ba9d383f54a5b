# Source: view of the full blocks
# The last numbers have no scale.
def quantize_blocks(values, code_book, block_size: int):
    borders = (code_book[1:] + code_book[:-1]) / 2
    flat = values.flatten()
    full = max(len(flat) // block_size, 1)
    scales = torch.stack([flat[k * block_size : (k + 1) * block_size].abs().max() for k in range(full)])
    of_each = scales.repeat_interleave(block_size)
    of_each = torch.cat([of_each, scales[-1:].expand(block_size)])[: len(flat)]
    divisors = torch.where(of_each == 0, torch.ones_like(of_each), of_each)
    return torch.bucketize(flat / divisors, borders).to(torch.uint8).view(values.shape), scales
