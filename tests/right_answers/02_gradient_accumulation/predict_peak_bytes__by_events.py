# Source: a walk through the step
# Every event adds or frees bytes; the largest sum is the peak.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    held = peak = parameter_bytes + state_bytes
    has_gradients = False
    for _ in range(k):
        held += activation_bytes // k
        peak = max(peak, held)
        held -= activation_bytes // k
        if not has_gradients:
            held += parameter_bytes
            has_gradients = True
    return max(peak, held)
