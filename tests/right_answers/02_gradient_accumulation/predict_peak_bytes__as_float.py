# Source: one expression
# What both moments hold stands before max(); the result is a float.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    return parameter_bytes + state_bytes + max(parameter_bytes, min(k - 1, 1) * parameter_bytes + activation_bytes / k)
