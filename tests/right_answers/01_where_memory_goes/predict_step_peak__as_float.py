# Source: helper functions in MiB, turned back into bytes
# The result is a float that is a whole number.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    def mib(elements):
        return elements * 4 / MIB

    parameters = mib(blocks * (2 * width * hidden + width + hidden))
    state = 2 * parameters + mib(4 * blocks)
    inputs = mib(batch * width)
    backward = mib(blocks * batch * (2 * hidden + width)) + mib(batch * hidden + width * hidden + width + 2)
    update = parameters + mib(2 * width * hidden + hidden)
    return (parameters + state + inputs + max(backward, update)) * MIB
