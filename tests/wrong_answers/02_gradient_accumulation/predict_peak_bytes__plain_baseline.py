# Source: the plain update of lesson 01, without micro-batches
# The whole batch is taken to run at once, whatever k is.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    end_of_forward = parameter_bytes + state_bytes + activation_bytes
    update = 2 * parameter_bytes + state_bytes
    return max(end_of_forward, update)
