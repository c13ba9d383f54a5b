def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    held = [parameter_bytes, boundary_bytes, boundary_bytes]
    held += [boundary_bytes] * len(range(0, blocks, k))
    held += [boundary_bytes, interior_bytes] * k
    return sum(held)
