# Source: a likely slip: only the segment at work is looked at
# The kept inputs of the segments are forgotten.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + k * (boundary_bytes + interior_bytes)
