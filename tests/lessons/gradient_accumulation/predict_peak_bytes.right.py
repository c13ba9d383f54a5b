# %% answer="as_float"
# Source: one expression
# What both moments hold stands before max(); the result is a float.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    return parameter_bytes + state_bytes + max(parameter_bytes, min(k - 1, 1) * parameter_bytes + activation_bytes / k)


# %% answer="by_events"
# Source: a walk through the step
# Every event adds or frees bytes; the largest sum is the peak.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    held = peak = parameter_bytes + state_bytes
    has_gradients = False
    for _ in range(k):
        held += activation_bytes // k
        peak = max(peak, held)
        held -= activation_bytes // k
        if not has_gradients:
            held += parameter_bytes
            has_gradients = True
    return max(peak, held)


# %% answer="table_of_moments"
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


# %% answer="two_branches"
# Source: k = 1 apart from all other k
# With k > 1 the end of a forward always outweighs the update.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    if k == 1:
        return state_bytes + parameter_bytes + max(parameter_bytes, activation_bytes)
    return state_bytes + 2 * parameter_bytes + activation_bytes // k
