# Source: a likely slip: a checkpoint is taken to replace the activations for good
# The segment that runs again is forgotten.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks // k * boundary_bytes
