# Source: the estimate of the lesson: two float32 numbers for each parameter
# The state is estimated from the parameters.
def count_state(optimizer) -> tuple[int, int]:
    numbers = sum(p.numel() for group in optimizer.param_groups for p in group["params"])
    return 2 * numbers, 8 * numbers
