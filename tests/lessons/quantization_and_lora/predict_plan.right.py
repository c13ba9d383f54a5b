# Right answers to predict_plan.

# %% answer="math_ceil"
def predict_plan(layers, rank, block_size, second_block_size):
    import math

    total_bits = total = trained = 0
    for inputs, outputs, has_adapter in layers:
        numbers = inputs * outputs
        blocks = math.ceil(numbers / block_size)
        if second_block_size is None:
            scale_bytes = 4 * blocks
        else:
            scale_bytes = blocks + 4 * math.ceil(blocks / second_block_size)
        total_bits += 4 * numbers + 8 * scale_bytes
        total += numbers
        trained += (rank * inputs + outputs * rank) * int(has_adapter)
    return {"update_bytes": 3 * 4 * trained, "bits": total_bits / total, "trained": trained}


# %% answer="meta_tensors"
def predict_plan(layers, rank, block_size, second_block_size):
    bits, weights, factors = 0, 0, []
    for inputs, outputs, has_adapter in layers:
        weight = torch.empty(outputs, inputs, device="meta")
        scales = len(weight.flatten().split(block_size))
        second = len(torch.empty(scales, device="meta").split(second_block_size)) if second_block_size else 0
        bits += 4 * weight.numel() + (8 if second else 32) * scales + 32 * second
        weights += weight.numel()
        if has_adapter:
            factors += [torch.empty(rank, inputs, device="meta"), torch.empty(outputs, rank, device="meta")]
    trained = sum(factor.numel() for factor in factors)
    return {"bits": bits / weights, "trained": trained, "update_bytes": sum(3 * factor.nbytes for factor in factors)}


# %% answer="tensors_returned"
def predict_plan(layers, rank, block_size, second_block_size):
    sides = torch.tensor([layer[:2] for layer in layers])
    has_adapter = torch.tensor([layer[2] for layer in layers])
    numbers = sides.prod(dim=1)
    scales = (numbers + block_size - 1) // block_size
    bits = 4 * numbers + 32 * scales
    if second_block_size:
        bits = 4 * numbers + 8 * scales + 32 * ((scales + second_block_size - 1) // second_block_size)
    trained = rank * sides.sum(dim=1)[has_adapter].sum()
    return {"bits": bits.sum().double() / numbers.sum(), "trained": trained, "update_bytes": 12 * trained}
