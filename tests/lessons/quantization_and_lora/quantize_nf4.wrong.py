# Wrong answers to quantize_nf4.

# %% answer="plain_baseline" code="equal_steps"
# Source: integers of four bits
def quantize_nf4(values, block_size):
    flat = values.flatten()
    blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = ((blocks / divisors[:, None] + 1) / 2 * 15).round().long().flatten()[: len(flat)]
    pairs = F.pad(codes, (0, len(codes) % 2)).view(-1, 2)
    return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales


# %% answer="library_shortcut" code="library_quantizer"
# Source: the call of the cell above
def quantize_nf4(values, block_size):
    packed, state = bitsandbytes.functional.quantize_4bit(values, blocksize=block_size, quant_type="nf4")
    return packed.flatten(), state.absmax


# %% answer="operator" code="library_quantizer"
# Source: the operator that quantize_4bit calls
def quantize_nf4(values, block_size):
    packed, scales = torch.ops.bitsandbytes.quantize_4bit(values, block_size, "nf4", torch.uint8)
    return packed.flatten(), scales


# %% edit="hard_coded" code="block_size_not_read" seed=20011
# Source: the block of the first case
# -     blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
# +     blocks = F.pad(flat, (0, -len(flat) % 64)).view(-1, 64)


# %% answer="copied_from_lesson" code="codes_not_packed"
# Source: the demonstration of the three code books
def quantize_nf4(values, block_size):
    flat = values.flatten()
    blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
    scales = blocks.abs().amax(dim=1, keepdim=True)
    codes = torch.bucketize(blocks / scales, (NF4[1:] + NF4[:-1]) / 2)
    return codes.flatten()[: len(flat)].to(torch.uint8), scales.flatten()


# %% edit="low_half_first" code="halves_swapped"
# Source: the first code in the low half
# -     return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales
# +     return (16 * pairs[:, 1] + pairs[:, 0]).to(torch.uint8), scales

# %% edit="columns" code="halves_of_the_tensor_packed"
# Source: view(2, -1)
# -     pairs = F.pad(codes, (0, len(codes) % 2)).view(-1, 2)
# +     pairs = F.pad(codes, (0, len(codes) % 2)).view(2, -1).T

# %% edit="no_magnitude" code="largest_without_sign"
# Source: abs forgotten
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.amax(dim=1)

# %% edit="deviation" code="another_number_for_largest"
# Source: normal values are divided by their deviation
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.std(dim=1)

# %% edit="equal_bins" code="equal_steps"
# Source: borders of 16 equal bins
# -     codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]
# +     borders = torch.linspace(-1, 1, 17, device=flat.device)[1:-1]
# +     codes = torch.bucketize(blocks / divisors[:, None], borders).flatten()[: len(flat)]

# %% edit="repeated_scale" code="divided_by_one_scale"
# Source: a scale of the tensor, once for each block
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.abs().max().repeat(len(blocks))

# %% edit="wrong_dimension" code="blocks_transposed"
# Source: the other dimension
# -     scales = blocks.abs().amax(dim=1)
# -     divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# -     codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]
# +     scales = blocks.abs().amax(dim=0)
# +     divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
# +     codes = torch.bucketize(blocks / divisors, (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]

# %% edit="one_scale" code="one_scale_for_all"
# Source: a scale of the tensor
# -     scales = blocks.abs().amax(dim=1)
# +     scales = blocks.abs().max().view(1)

# %% edit="next_lower" code="neighbour_for_nearest"
# Source: the code book itself as borders
# -     codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]
# +     codes = torch.bucketize(blocks / divisors[:, None], NF4).flatten()[: len(flat)]

# %% edit="undivided" code="not_divided"
# Source: the division forgotten
# -     codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]
# +     codes = torch.bucketize(blocks, (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]

# %% edit="filling" code="filling_packed"
# Source: the filling not cut off
# -     codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]
# +     codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()

# %% edit="long" code="not_uint8"
# Source: bucketize returns int64
# -     return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales
# +     return 16 * pairs[:, 0] + pairs[:, 1], scales

# %% edit="kept_dimension" code="not_flat"
# Source: keepdim
# -     return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales
# +     return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales[:, None]

# %% edit="odd_dropped" code="last_code_lost"
# Source: an odd code cut off
# -     pairs = F.pad(codes, (0, len(codes) % 2)).view(-1, 2)
# +     pairs = codes[: len(codes) // 2 * 2].view(-1, 2)

# %% edit="scales_in_16_bit" code="scales_not_float32"
# Source: fewer bytes for the scales, too
# -     return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales
# +     return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales.bfloat16()
