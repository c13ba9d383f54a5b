# Source: essays that promise the square root of the memory
# The best k is assumed, whatever k is given.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + int(2 * (blocks * boundary_bytes * (boundary_bytes + interior_bytes)) ** 0.5)
