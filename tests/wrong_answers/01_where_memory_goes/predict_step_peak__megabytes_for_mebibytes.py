# Source: GPU vendors' data sheets, where 1 MB is 10**6 bytes
# MB of 10**6 bytes are turned into bytes as if they were MiB.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    state = 2 * parameters + 4 * blocks
    held_always = parameters + state + batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    update_buffers = 2 * width * hidden + hidden
    megabytes = 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers) / 1e6
    return round(megabytes * MIB)
