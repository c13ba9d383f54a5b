# Source: a likely slip: backward is taken to begin with a second forward of everything
# Every segment is taken to be in memory at once.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks // k * boundary_bytes + blocks * (boundary_bytes + interior_bytes)
