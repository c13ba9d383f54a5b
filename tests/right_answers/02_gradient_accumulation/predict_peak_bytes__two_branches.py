# Source: k = 1 apart from all other k
# With k > 1 the end of a forward always outweighs the update.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    if k == 1:
        return state_bytes + parameter_bytes + max(parameter_bytes, activation_bytes)
    return state_bytes + 2 * parameter_bytes + activation_bytes // k
