# Right answers to quantize_nf4.

# %% answer="distances"
def quantize_nf4(values, block_size):
    scales, codes = [], []
    for block in values.flatten().split(block_size):
        largest = block.abs().max()
        scales.append(largest)
        scaled = block / largest if largest > 0 else block
        codes.append((scaled[:, None] - NF4).abs().argmin(dim=1))
    codes = torch.cat(codes).to(torch.uint8)
    high, low = codes[0::2], codes[1::2]
    packed = high << 4
    packed[: len(low)] |= low
    return packed, torch.stack(scales)


# %% answer="multiplied"
def quantize_nf4(values, block_size):
    flat = values.reshape(-1)
    count = flat.numel()
    filled = torch.zeros(-(-count // block_size) * block_size, device=values.device)
    filled[:count] = flat
    blocks = filled.reshape(-1, block_size)
    scales = torch.linalg.vector_norm(blocks, ord=float("inf"), dim=1)
    scaled = blocks / scales.clamp(min=1e-30).unsqueeze(1)
    codes = sum((scaled > border).to(torch.uint8) for border in (NF4[1:] + NF4[:-1]) / 2).reshape(-1)[
        : count + count % 2
    ]
    if len(codes) % 2:
        codes = torch.cat((codes, codes.new_zeros(1)))
    return torch.bitwise_or(codes[::2] * 16, codes[1::2]), scales


# %% edit="other_filling"
# -     pairs = F.pad(codes, (0, len(codes) % 2)).view(-1, 2)
# +     pairs = F.pad(codes, (0, len(codes) % 2), value=7).view(-1, 2)
