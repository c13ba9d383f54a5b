import numpy as np


def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    counts = np.array([1, blocks // k + k + 2, k])
    return counts @ np.array([parameter_bytes, boundary_bytes, interior_bytes])
