# %% edit="plain_baseline" code="linear_codes"
# Source: linear codes, the usual 8-bit integers
# Codes at equal distances.
#       flat = values.flatten()  # [numbers]
# -     borders = (code_book[1:] + code_book[:-1]) / 2
# ...
#       divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# -     codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# +     codes = ((blocks / divisors[:, None] + 1) / 2 * (len(code_book) - 1)).round().to(torch.uint8)

# %% answer="hard_coded" code="wrong_number_of_scales" seed=20011
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


# %% answer="copied_from_lesson" code="one_scale_for_all"
# Source: quantize_whole of the lesson
# One scale for the whole tensor.
def quantize_blocks(values, code_book, block_size: int):
    scale = values.abs().max()
    borders = (code_book[1:] + code_book[:-1]) / 2
    return torch.bucketize(values / scale, borders).to(torch.uint8), scale.view(1)


# %% answer="library_shortcut" code="course_quantizer"
# Source: the course's own version
# encode_blocks does all of it.
def quantize_blocks(values, code_book, block_size: int):
    return encode_blocks(values, code_book, block_size)


# %% answer="library_of_bitsandbytes" code="library_quantizer"
# Source: bitsandbytes.functional
def quantize_blocks(values, code_book, block_size: int):
    codes, state = bitsandbytes.functional.quantize_blockwise(values, code_book, blocksize=block_size)
    return codes, state.absmax


# %% answer="block_of_256" code="block_size_not_read"
# Source: the block size of bitsandbytes
def quantize_blocks(values, code_book, block_size: int):
    block_size = 256
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales


# %% answer="rows_for_blocks" code="scale_for_each_row"
# Source: quantization by rows
def quantize_blocks(values, code_book, block_size: int):
    borders = (code_book[1:] + code_book[:-1]) / 2
    rows = values.reshape(-1, values.shape[-1])
    scales = rows.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    return torch.bucketize(rows / divisors[:, None], borders).to(torch.uint8).view(values.shape), scales


# %% answer="short_block_left_out" code="short_block_left_out"
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


# %% edit="filling_kept" code="filling_kept"
# Source: the last line forgotten
# Codes of the filling are returned.
#       codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# -     return codes.flatten()[: len(flat)].view(values.shape), scales
# +     return codes.flatten(), scales

# %% edit="filled_with_ones" code="short_block_wrong"
# Source: a short block filled up with ones, which become its scale
#       borders = (code_book[1:] + code_book[:-1]) / 2
# -     filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
# +     filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size), value=1.0)

# %% edit="largest_without_sign" code="largest_without_sign"
# Source: max for the largest size
# A negative outlier is not seen.
#       blocks = filled.view(-1, block_size)  # [blocks, block_size]
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.amax(dim=1)

# %% edit="mean_for_largest" code="another_number_for_largest"
# Source: mean of sizes, as in one-bit methods
#       blocks = filled.view(-1, block_size)  # [blocks, block_size]
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.abs().mean(dim=1)

# %% edit="code_below" code="neighbour_for_nearest"
# Source: searchsorted, minus one
#       flat = values.flatten()  # [numbers]
# -     borders = (code_book[1:] + code_book[:-1]) / 2
# ...
#       divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# -     codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# +     codes = (torch.searchsorted(code_book, blocks / divisors[:, None], right=True) - 1).clamp(0).to(torch.uint8)

# %% edit="codes_in_int64" code="codes_not_in_one_byte"
# Source: what bucketize returns
# Codes take eight bytes each.
#       divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# -     codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# +     codes = torch.bucketize(blocks / divisors[:, None], borders)

# %% edit="codes_flat" code="codes_in_another_shape"
# Source: the shape forgotten
#       codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# -     return codes.flatten()[: len(flat)].view(values.shape), scales
# +     return codes.flatten()[: len(flat)], scales

# %% edit="divisor_padded" code="divisor_not_the_scale"
# Source: an epsilon against a division by zero
# 1e-8 is added to the divisor.
#       scales = blocks.abs().amax(dim=1)
# -     divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# +     divisors = scales + 1e-8

# %% edit="zero_divided" code="scale_not_finite"
# Source: a division without a look at zeros
# A block of zeros has the scale NaN.
#       codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# +     scales = scales * (scales / scales)

# %% edit="sign_lost" code="sign_lost"
# Source: sizes for numbers
# Sizes are encoded, without their signs.
#       divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# -     codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# +     codes = torch.bucketize(blocks.abs() / divisors[:, None], borders).to(torch.uint8)


# %% answer="signed_book_always" code="signed_book_always"
# Source: the name SIGNED of the lesson
# Another code book than the one handed over.
def quantize_blocks(values, code_book, block_size: int):
    code_book = SIGNED
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales


# %% answer="values_divided_in_place" code="values_changed"
# Source: div_ in place of /
# The tensor that was handed over changes.
def quantize_blocks(values, code_book, block_size: int):
    values.div_(values.abs().max())
    flat = values.flatten()  # [numbers]
    borders = (code_book[1:] + code_book[:-1]) / 2
    filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
    blocks = filled.view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
    return codes.flatten()[: len(flat)].view(values.shape), scales


# %% edit="blocks_transposed" code="blocks_in_another_order"
# Source: view(block_size, -1)
# Numbers of a block are far apart.
#       filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
# -     blocks = filled.view(-1, block_size)  # [blocks, block_size]
# +     blocks = filled.view(block_size, -1).t()
# ...
#       codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# -     return codes.flatten()[: len(flat)].view(values.shape), scales
# +     return codes.t().flatten()[: len(flat)].view(values.shape), scales

# %% edit="scales_in_rows" code="scales_not_flat"
# Source: keepdim=True, so that the division broadcasts
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.abs().amax(dim=1, keepdim=True)
# ...
# -     codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# +     codes = torch.bucketize(blocks / divisors, borders).to(torch.uint8)

# %% edit="scales_in_16_bit" code="scales_not_float32"
# Source: fewer bytes for the scales, too
#       codes = torch.bucketize(blocks / divisors[:, None], borders).to(torch.uint8)
# -     return codes.flatten()[: len(flat)].view(values.shape), scales
# +     return codes.flatten()[: len(flat)].view(values.shape), scales.bfloat16()

# %% edit="filled_up_always" code="empty_block_added"
# Source: block_size - numbers % block_size
# -     filled = torch.nn.functional.pad(flat, (0, -len(flat) % block_size))
# +     filled = torch.nn.functional.pad(flat, (0, block_size - len(flat) % block_size))
