# Source: a likely slip: `checkpoint_sequential` takes a number of segments
# k is read as the number of segments.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + k * boundary_bytes + blocks // k * (boundary_bytes + interior_bytes)
