# Source: the lesson's curve, whose blocks have no interior
# The interior of the segment that runs again is left out.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + (blocks // k + k) * boundary_bytes
