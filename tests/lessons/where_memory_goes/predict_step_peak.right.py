# %% answer="as_float"
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


# %% answer="by_events"
# Source: a walk through the step
# Every event allocates or frees bytes; the largest sum is the peak.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    held = peak = 0

    def allocate(elements):
        nonlocal held, peak
        held += 4 * elements
        peak = max(peak, held)

    def free(elements):
        allocate(-elements)

    tensors = [width * hidden, hidden, hidden * width, width] * blocks
    for tensor in tensors:
        allocate(3 * tensor + 1)  # parameter, two moments, step counter
    allocate(batch * width)
    for _ in range(blocks):
        allocate(batch * hidden)
        allocate(batch * hidden)
        allocate(batch * width)
    last_layer = batch * hidden + width * hidden + width + 2
    allocate(last_layer)
    free(last_layer)
    free(blocks * batch * (2 * hidden + width))
    allocate(sum(tensors))
    allocate(hidden + 2 * width * hidden)
    return peak


# %% answer="counted_from_the_model"
# Source: parameters counted from the chain itself
# The shapes of the parameters are read from a model without memory.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    with torch.device("meta"):
        model = make_chain(blocks, width, hidden)
    tensors = list(model.parameters())
    parameters = sum(tensor.numel() for tensor in tensors)
    largest = max(tensor.numel() for tensor in tensors)
    held = parameters * 3 + len(tensors) + batch * width
    forward = blocks * (2 * batch * hidden + batch * width)
    peaks = [held + forward + batch * hidden + largest + width + 2, held + parameters + 2 * largest + hidden]
    return max(peaks) * tensors[0].element_size()


# %% answer="early_return"
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


# %% answer="numpy_int64"
# Source: a NumPy user's cell
# Products of NumPy integers; the result is one too.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    import numpy as np

    shapes = [(hidden, width), (hidden,), (width, hidden), (width,)]
    parameters = blocks * sum(np.prod(shape, dtype=np.int64) for shape in shapes)
    step_counters = blocks * len(shapes)
    common = 3 * parameters + step_counters + batch * width
    first = np.array(
        [blocks * batch * 2 * hidden, blocks * batch * width, batch * hidden, hidden * width, width, 2]
    ).sum()
    second = np.array([parameters, 2 * hidden * width, hidden]).sum()
    return (common + np.maximum(first, second)) * np.dtype("float32").itemsize


# %% answer="table_of_moments"
# Source: the lesson's table as data
# Every piece with its elements and the moments at which it is alive.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    weight = width * hidden
    parameters = blocks * (2 * weight + width + hidden)
    always = {"parameters": parameters, "moments": 2 * parameters, "step counters": 4 * blocks, "input": batch * width}
    moments = {
        "backward begins": {
            "activations": blocks * batch * (hidden + hidden + width),
            "gradient of the last layer's input": batch * hidden,
            "gradient of its weight": weight,
            "gradient of its bias": width,
            "loss": 1,
            "gradient of the loss": 1,
        },
        "update": {"gradients": parameters, "square root": weight, "quotient": weight, "last denominator": hidden},
    }
    return 4 * (sum(always.values()) + max(sum(pieces.values()) for pieces in moments.values()))
