# Source: a likely slip: k micro-batches are taken to need one k-th of the memory
# All four kinds are taken to shrink with the micro-batch.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    return (parameter_bytes + gradient_bytes + state_bytes + activation_bytes) // k
