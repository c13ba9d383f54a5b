# %% answer="as_float"
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    segments = blocks / k
    return parameter_bytes + boundary_bytes * (segments + k + 2) + k * interior_bytes


# %% answer="by_events"
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    kept, peak = 0, 0
    for _ in range(0, blocks, k):  # forward: the input of each segment stays
        kept += boundary_bytes
    for _ in range(0, blocks, k):  # backward: one segment runs again, and is freed with its input
        segment = sum(boundary_bytes + interior_bytes for _ in range(k))
        peak = max(peak, kept + segment)
        kept -= boundary_bytes
    output = buffer = boundary_bytes
    return parameter_bytes + peak + output + buffer


# %% answer="list_of_tensors"
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    held = [parameter_bytes, boundary_bytes, boundary_bytes]
    held += [boundary_bytes] * len(range(0, blocks, k))
    held += [boundary_bytes, interior_bytes] * k
    return sum(held)


# %% answer="numpy"
import numpy as np


def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    counts = np.array([1, blocks // k + k + 2, k])
    return counts @ np.array([parameter_bytes, boundary_bytes, interior_bytes])
