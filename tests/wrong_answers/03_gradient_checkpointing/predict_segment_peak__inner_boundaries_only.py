# Source: the natural count of a drawn segment: its input is kept, its output is that of the chain
# The output that a segment computes again is taken for that of the chain.
def predict_segment_peak(parameter_bytes, boundary_bytes, interior_bytes, blocks, k):
    kept_inputs = blocks // k * boundary_bytes
    one_segment = (k - 1) * boundary_bytes + k * interior_bytes
    return parameter_bytes + kept_inputs + one_segment + 2 * boundary_bytes
