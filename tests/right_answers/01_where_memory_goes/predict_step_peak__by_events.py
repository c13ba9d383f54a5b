# Source: a walk through the step
# Every event allocates or frees bytes; the largest sum is the peak.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    held = peak = 0

    def allocate(elements):
        nonlocal held, peak
        held += 4 * elements
        peak = max(peak, held)

    def free(elements):
        allocate(-elements)

    tensors = [width * hidden, hidden, hidden * width, width] * blocks
    for tensor in tensors:
        allocate(3 * tensor + 1)  # parameter, two moments, step counter
    allocate(batch * width)
    for _ in range(blocks):
        allocate(batch * hidden)
        allocate(batch * hidden)
        allocate(batch * width)
    last_layer = batch * hidden + width * hidden + width + 2
    allocate(last_layer)
    free(last_layer)
    free(blocks * batch * (2 * hidden + width))
    allocate(sum(tensors))
    allocate(hidden + 2 * width * hidden)
    return peak
