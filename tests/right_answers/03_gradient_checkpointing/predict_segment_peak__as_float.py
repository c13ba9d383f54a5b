def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    segments = blocks / k
    return parameter_bytes + boundary_bytes * (segments + k + 2) + k * interior_bytes
