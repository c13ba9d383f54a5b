# Source: a likely slip: the argument is used as it comes
# The activations of the whole batch are taken to be held beside the accumulated gradients.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    accumulated_bytes = gradient_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes
    return max(end_of_forward, parameter_bytes + state_bytes + gradient_bytes)
