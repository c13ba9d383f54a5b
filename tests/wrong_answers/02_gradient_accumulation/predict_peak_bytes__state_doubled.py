# Source: a likely slip: AdamW has two moments, so its state is counted twice
# state_bytes is read as one of two moments.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    moments = 2 * state_bytes
    accumulated = parameter_bytes if k > 1 else 0
    return parameter_bytes + moments + max(accumulated + activation_bytes // k, parameter_bytes)
