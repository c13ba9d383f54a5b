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
