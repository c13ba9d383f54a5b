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
