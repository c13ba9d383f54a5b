# Source: a loop with counters
# One pass with four sums.
def predict_eight_bit_state(parameters: list) -> int:
    total, is_any_large = 0, False
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        numbers = parameter.numel()
        if numbers < 4096:
            total += 8 * numbers
            continue
        is_any_large = True
        full, rest = divmod(numbers, 256)
        total += 2 * (numbers + 4 * (full + (rest > 0)))
    return total + 2048 * is_any_large
