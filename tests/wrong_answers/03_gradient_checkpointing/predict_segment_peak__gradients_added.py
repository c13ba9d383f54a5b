# Source: lesson 01, where gradients are as large as the parameters
# Gradients are counted, which the exercise leaves out.
def predict_segment_peak(parameter_bytes, boundary_bytes, interior_bytes, blocks, k):
    return 2 * parameter_bytes + (blocks // k + k + 2) * boundary_bytes + k * interior_bytes
