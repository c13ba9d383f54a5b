# Source: two branches in place of max()
# The moment is decided first, from what the two do not share.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    of_block = hidden * width + hidden + width * hidden + width
    parameters = blocks * of_block
    common_bytes = 4 * (3 * parameters + 4 * blocks + batch * width)
    gradients_and_buffers = parameters + 2 * hidden * width + hidden
    activations_and_buffers = batch * (blocks * (2 * hidden + width) + hidden) + hidden * width + width + 2
    if activations_and_buffers < gradients_and_buffers:
        return common_bytes + 4 * gradients_and_buffers
    return common_bytes + 4 * activations_and_buffers
