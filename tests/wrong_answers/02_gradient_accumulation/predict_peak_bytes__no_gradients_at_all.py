# Source: a likely slip: what holds for k = 1 at the end of the forward is written down for every k and every moment
# Gradients are taken never to be part of a peak.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    return parameter_bytes + state_bytes + activation_bytes // k
