# Source: a likely slip: the contract's two more boundaries are not read
# The output and the buffer are left out.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return parameter_bytes + blocks // k * boundary_bytes + k * (boundary_bytes + interior_bytes)
