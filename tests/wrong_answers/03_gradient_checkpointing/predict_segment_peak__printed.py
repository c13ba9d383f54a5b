# Source: a likely slip: print in place of return
# The peak is printed, and nothing is returned.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    print(always + blocks // k * boundary_bytes + k * (boundary_bytes + interior_bytes))
