# Source: a rule of thumb: memory is highest when the forward ends
# The update is never looked at; a small batch peaks there.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    state = 2 * parameters + 4 * blocks
    held_always = parameters + state + batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    return 4 * (held_always + activations + backward_buffers)
