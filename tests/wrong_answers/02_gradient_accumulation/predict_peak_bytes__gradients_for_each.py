# Source: a likely slip: each backward() is taken to leave a tensor of its own
# Each earlier micro-batch is taken to leave gradients of its own.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    accumulated_bytes = (k - 1) * parameter_bytes
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes / k
    update = parameter_bytes + state_bytes + k * parameter_bytes
    return int(max(end_of_forward, update))
