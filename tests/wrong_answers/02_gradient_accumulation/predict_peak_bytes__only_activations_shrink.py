# Source: the lesson's opening question, as most people answer it
# The gradients of earlier micro-batches are forgotten while the next one runs forward.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    fixed_bytes = parameter_bytes + state_bytes
    return fixed_bytes + max(activation_bytes // k, gradient_bytes)
