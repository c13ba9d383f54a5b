# Source: the sum of a training job's four kinds of memory, as most guides give it
# Gradients and activations are taken to be alive together: no moment is picked.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    state = 2 * parameters + 4 * blocks
    held_always = parameters + state + batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    gradients = parameters
    return 4 * (held_always + gradients + activations + backward_buffers)
