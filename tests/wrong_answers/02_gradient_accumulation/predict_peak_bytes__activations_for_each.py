# Source: a likely slip: per-device batch size times k is the effective batch, so k multiplies
# activation_bytes is read as that of one micro-batch, and all k are kept.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    waiting = parameter_bytes * (k > 1)
    held = parameter_bytes + state_bytes
    return max(held + waiting + activation_bytes * k, held + parameter_bytes)
