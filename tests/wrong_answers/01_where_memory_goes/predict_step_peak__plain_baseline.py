# Source: Hugging Face, Model memory anatomy: a number of bytes for each parameter
# 16 bytes for each parameter: weights, gradients, two moments. The batch plays no part.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    return 16 * parameters
