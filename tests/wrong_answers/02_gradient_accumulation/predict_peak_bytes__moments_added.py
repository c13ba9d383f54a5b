# Source: a likely slip: the two moments of the lesson, added
# Two moments that follow each other are taken to be one.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    accumulated_bytes = parameter_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    update = parameter_bytes + state_bytes + parameter_bytes
    return end_of_forward + update
