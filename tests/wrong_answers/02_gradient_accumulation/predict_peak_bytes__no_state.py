# Source: a first iteration measured: AdamW makes its state in the first step
# The optimizer state is forgotten.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    micro_batch_bytes = activation_bytes // k
    if k == 1:
        return parameter_bytes + max(gradient_bytes, micro_batch_bytes)
    return parameter_bytes + gradient_bytes + micro_batch_bytes
