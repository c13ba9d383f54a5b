# Source: a likely slip: blocks are taken to run again one by one
# Only one block of a segment is taken to be in memory.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks // k * boundary_bytes + boundary_bytes + interior_bytes
