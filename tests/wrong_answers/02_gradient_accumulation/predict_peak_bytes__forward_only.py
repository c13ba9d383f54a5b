# Source: a likely slip: the first line of the lesson's table alone
# The peak is taken to end a forward always; a small batch peaks during the update.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes if k > 1 else 0
    return parameter_bytes + state_bytes + gradient_bytes + activation_bytes // k
