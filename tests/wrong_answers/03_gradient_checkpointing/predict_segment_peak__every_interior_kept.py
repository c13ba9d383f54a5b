# Source: a likely slip: a checkpoint is taken to free boundaries alone
# The interiors of all blocks are counted.
def predict_segment_peak(parameter_bytes, boundary_bytes, interior_bytes, blocks, k):
    return parameter_bytes + (blocks // k + k + 2) * boundary_bytes + blocks * interior_bytes
