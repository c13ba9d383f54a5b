# Source: the lesson's table as data
# One row of kinds for each moment.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    moments = {
        "first forward": {"activations": activation_bytes / k},
        "update": {"gradients": parameter_bytes},
    }
    if k >= 2:
        moments["next forward"] = {"activations": activation_bytes / k, "gradients": parameter_bytes}
    always = parameter_bytes + state_bytes
    return round(max(always + sum(kinds.values()) for kinds in moments.values()))
