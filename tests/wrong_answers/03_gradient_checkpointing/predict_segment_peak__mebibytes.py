# Source: the lesson's figures, which are in MiB
# The right peak in the wrong unit.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return (always + blocks // k * boundary_bytes + k * (boundary_bytes + interior_bytes)) // MIB
