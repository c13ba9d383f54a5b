# Source: PyTorch before 2.0: zero_grad(set_to_none=False) was the default
# Gradients are taken to stay, as zeros, while forward and backward run.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    state = 2 * parameters + 4 * blocks
    held_always = parameters + state + batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    update_buffers = 2 * width * hidden + hidden
    gradients = parameters
    when_backward_begins = held_always + gradients + activations + backward_buffers
    in_update = held_always + gradients + update_buffers
    return 4 * max(when_backward_begins, in_update)
