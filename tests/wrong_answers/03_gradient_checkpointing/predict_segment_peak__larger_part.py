# Source: a likely slip: the two moments of lesson 02, where the larger one counts
# Kept inputs and segment are taken to be there at different moments.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + max(blocks // k * boundary_bytes, k * (boundary_bytes + interior_bytes))
