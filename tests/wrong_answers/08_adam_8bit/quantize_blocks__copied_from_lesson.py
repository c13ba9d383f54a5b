# Source: quantize_whole of the lesson
# One scale for the whole tensor.
def quantize_blocks(values, code_book, block_size: int):
    scale = values.abs().max()
    borders = (code_book[1:] + code_book[:-1]) / 2
    return torch.bucketize(values / scale, borders).to(torch.uint8), scale.view(1)
