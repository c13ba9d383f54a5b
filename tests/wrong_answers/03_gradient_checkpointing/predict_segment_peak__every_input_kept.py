# Source: a likely slip: libraries that checkpoint each layer keep each input
# Every block's input is taken to be kept.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks * boundary_bytes + k * (boundary_bytes + interior_bytes)
