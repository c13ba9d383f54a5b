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
