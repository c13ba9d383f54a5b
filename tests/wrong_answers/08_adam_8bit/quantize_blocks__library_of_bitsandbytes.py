# Source: bitsandbytes.functional
# The library quantizes.
def quantize_blocks(values, code_book, block_size: int):
    codes, state = bitsandbytes.functional.quantize_blockwise(values, code_book, blocksize=block_size)
    return codes, state.absmax
