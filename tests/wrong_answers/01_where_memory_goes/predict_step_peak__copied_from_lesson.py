# Source: the lesson's own cell, which meters the step of its chain
# The peak is measured and not predicted.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    return measure_peak_memory(**make_step(blocks, width, hidden, batch)).peak_bytes
