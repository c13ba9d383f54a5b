# Source: a likely slip: backward is at one block at a time
# One interior is counted, not that of each block of the segment.
def predict_segment_peak(parameter_bytes, boundary_bytes, interior_bytes, blocks, k):
    return parameter_bytes + (blocks // k + k + 2) * boundary_bytes + interior_bytes
