# Source: a likely slip: ** for *
# A power in place of a product.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width**hidden + width + hidden)
    state = 2 * parameters + 4 * blocks
    held_always = parameters + state + batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    update_buffers = 2 * width * hidden + hidden
    return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
