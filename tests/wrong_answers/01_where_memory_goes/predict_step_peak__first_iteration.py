# Source: a first iteration metered: AdamW makes its state in optimizer.step()
# The state is taken to exist in the update only.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    gradients, state = parameters, 2 * parameters + 4 * blocks
    inputs = batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    update_buffers = 2 * width * hidden + hidden
    when_backward_begins = parameters + inputs + activations + backward_buffers
    in_update = parameters + inputs + gradients + state + update_buffers
    return 4 * max(when_backward_begins, in_update)
