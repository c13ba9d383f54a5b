# Source: Hugging Face, Model memory anatomy: a number of bytes for each parameter
# Memory is counted for each parameter; activations are left out.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    weights, gradients = parameter_bytes, parameter_bytes
    return weights + gradients + state_bytes
