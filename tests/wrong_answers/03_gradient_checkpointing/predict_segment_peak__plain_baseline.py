# Source: the plain chain, without a checkpoint
# Every block's bytes are taken to be held, whatever k is.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks * (boundary_bytes + interior_bytes)
