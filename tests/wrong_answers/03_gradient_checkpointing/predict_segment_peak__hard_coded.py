# Source: the answers of the visible case, written down
# Four peaks seen once stand for a formula.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    if interior_bytes:
        return 11_230_000 if k < blocks else 31_790_000
    return 8_290_000 if k < 5 else 12_080_000
