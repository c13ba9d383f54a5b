# Source: a likely slip: k blocks in one checkpoint, so one k-th of the memory
# All activations are divided by k.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks * (boundary_bytes + interior_bytes) // k
