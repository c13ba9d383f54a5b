# Source: the lesson's figures, which are in MiB
# The right peak in the wrong unit.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    accumulated_bytes = parameter_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    update = parameter_bytes + state_bytes + parameter_bytes
    return max(end_of_forward, update) // MIB
