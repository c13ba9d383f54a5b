# Source: the recall question of the lesson: one training step holds four kinds of memory
# All four kinds are taken to be held at one moment.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    return parameter_bytes + gradient_bytes + state_bytes + activation_bytes // k
